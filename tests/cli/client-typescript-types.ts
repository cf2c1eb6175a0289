// What users of the types write; compiled, never run.
import { CommandExitError, CommandHandle, ConflictError, RunResult, Sandbox, run, undo } from 'aisbx'

export async function use (): Promise<string> {
  const result: RunResult = await run(['make', 'test'], { mem: '1g', timeoutMs: '30s', allow: ['example.org:443'] })
  const sandbox: Sandbox = await Sandbox.create({ timeoutMs: 60000 })
  const named = await Sandbox.create('name', { profile: 'strict' })
  const done: RunResult = await sandbox.commands.run('true', { envs: { A: '1' }, onStdout: (text) => text.length })
  const handle: CommandHandle = await sandbox.commands.run('sleep 9', { background: true })
  const text: string = await sandbox.files.read('a')
  const bytes: Buffer = await sandbox.files.read('a', { format: 'bytes' })
  const snapshot = await sandbox.createSnapshot()
  const fork: Sandbox = await sandbox.fork('other', { snapshot })
  try {
    await undo(await fork.promote(['a'], { strategy: 'merge', dryRun: false }))
  } catch (error) {
    if (error instanceof ConflictError) return String(error.promotion?.conflicts.length)
    if (error instanceof CommandExitError) return error.stderr + error.exitCode
  }
  // @ts-expect-error a number is no command
  await run(42)
  // @ts-expect-error no such strategy
  await named.promote(undefined, { strategy: 'mine' })
  return result.stdout + done.denials.length + handle.execId + text + bytes.length
}
