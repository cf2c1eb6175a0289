// The TypeScript client, method by method; speaks TAP. Started by test-client-typescript.py in a workspace of its own.
import { createRequire } from 'node:module'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import * as aisbx from 'aisbx'

const { Sandbox, run, undo } = aisbx
let count = 0
let failed = 0

function ok (good, what, detail) {
  count++
  if (!good) failed++
  console.log(`${good ? 'ok' : 'not ok'} ${count} - ${what}`)
  if (!good && detail !== undefined) console.log('#   ' + JSON.stringify(detail)?.slice(0, 1000))
}

/** The error CALL throws, when it is of that very KIND; else null. */
async function thrown (kind, call) {
  try {
    await call()
  } catch (error) {
    if (error.constructor === kind) return error
    console.log(`#   ${error.stack}`)
  }
  return null
}

async function testRun () {
  const result = await run('cat; echo $A; pwd', { stdin: 'in\n', envs: { A: 'a b' }, cwd: '/usr' })
  ok(result.stdout === 'in\na b\n/usr\n', 'stdin, environment, directory', result)
  ok((await run(['printf', '%s|', 'a  b', '', '--json'])).stdout === 'a  b||--json|', 'an array is passed exactly')
  const bytes = await run(['printf', '\\377\\000x'])
  ok(bytes.stdoutData.equals(Buffer.from([255, 0, 120])), 'bytes that are not UTF-8', bytes)
  const killed = await thrown(aisbx.CommandExitError, () => run('kill -9 $$'))
  ok(killed?.exitCode === 137 && killed.code === 'killed', 'ended by a signal', killed)
  ok(await thrown(aisbx.TimeoutError, () => run('sleep 60', { timeoutMs: 300 })), 'a time limit')
  const bad = await thrown(aisbx.UsageError, () => run('true', { mem: '3x' }))
  ok(bad?.hint === 'use 512m, 1g', 'a bad value, with its hint', bad)
  ok((await run('exit 4', { check: false })).exitCode === 4, 'check: false')
}

async function testSandbox () {
  const sandbox = await Sandbox.create('ts-1', { envs: { B: 'b' } })
  ok(await thrown(aisbx.ConflictError, () => Sandbox.create('ts-1')), 'a name that is taken')
  ok(await thrown(aisbx.UsageError, () => Sandbox.create('--json')), 'a name that looks like a flag')
  const same = await Sandbox.connect('ts-1')
  ok((await same.commands.run('echo $B; pwd')).stdout === `b\n${process.cwd()}\n`, 'connect')
  ok((await Sandbox.list()).some((info) => info.name === 'ts-1'), 'list')
  ok(await thrown(aisbx.NotFoundError, () => Sandbox.connect('no-such')), 'one that is not there')
  await sandbox.commands.run('echo 1 > s.txt')
  const saved = await sandbox.createSnapshot()
  await sandbox.commands.run('rm s.txt')
  ok(await sandbox.rollback() === saved.name && (await sandbox.listSnapshots()).length === 2, 'snapshots')
  const fork = await sandbox.fork(undefined, { snapshot: saved })
  ok((await fork.diff())[0]?.path === 's.txt' && (await fork.patch()).includes('+1'), 'fork, diff, patch')
  ok(await fork.kill() && !(await fork.kill()) && !(await fork.isRunning()), 'kill, once')
  await sandbox.stop()
  await sandbox.kill()
}

async function testBackground () {
  const sandbox = await Sandbox.create()
  const handle = await sandbox.commands.run('echo out; echo err >&2; cat; exit 3', { background: true })
  ok((await sandbox.commands.list()).some((row) => JSON.stringify(row).includes(handle.execId)), 'listed')
  const text = 'äöü\n'.repeat(30000)
  await handle.sendStdin(text)
  await handle.closeStdin()
  const error = await thrown(aisbx.CommandExitError, () => handle.wait())
  ok(error?.exitCode === 3 && error.stdout === 'out\n' + text && error.stderr === 'err\n', 'its input, output and end')
  const other = await sandbox.commands.connect(handle.execId)
  ok(other.stdout === handle.stdout && !(await other.kill()), 'seen by two')
  const seen = []
  const result = await sandbox.commands.run('for i in 1 2; do echo $i; sleep 0.2; done', { onStdout: (part) => seen.push(part) })
  ok(seen.join('') === '1\n2\n' && result.stdout === '1\n2\n', 'told while it runs', seen)
  const binary = Buffer.from(Array.from({ length: 100000 }, (_, at) => at * 7))
  const told = await sandbox.commands.run('cat', { stdin: binary, onStdout: () => {} })
  ok(told.stdoutData.equals(binary), 'bytes of every kind as input')
  const sleeper = await sandbox.commands.run('sleep 60', { background: true })
  ok(await sleeper.poll() === null && await sleeper.kill(), 'kill')
  ok(await thrown(aisbx.CommandExitError, () => sleeper.wait()), 'ended')
  await sandbox.kill()
}

async function testFiles () {
  const sandbox = await Sandbox.create()
  const { files } = sandbox
  const everything = Buffer.alloc(1 << 20, Buffer.from(Array.from({ length: 256 }, (_, n) => n)))
  await files.write('deep/er/all.bin', everything)
  ok((await files.read('deep/er/all.bin', { format: 'bytes' })).equals(everything), 'a megabyte of every byte')
  for (const name of ['-rf', 'a b', 'quo\'te"s', 'new\nline', '$(touch pwned)', '*', '!', '(']) {
    await files.write(name, name)
    ok(await files.read(name) === name && (await files.getInfo(name)).size === name.length, `a file called ${JSON.stringify(name)}`)
  }
  ok(!(await files.exists('pwned')), 'no name is a command')
  ok((await files.list('deep', { depth: 2 })).map((e) => e.path).join() === 'deep/er,deep/er/all.bin', 'list')
  await files.remove('*')
  ok(!(await files.exists('*')) && await files.exists('a b'), 'remove takes one file')
  ok(await files.makeDir('m/n') && !(await files.makeDir('m/n')), 'makeDir')
  ok((await files.rename('a b', 'm/c')).path === 'm/c', 'rename')
  ok(await thrown(aisbx.NotFoundError, () => files.read('nowhere')), 'read of what is not there')
  ok(await thrown(aisbx.SandboxError, () => files.read('m')), 'read of a directory')
  await sandbox.commands.run('mkfifo pipe')
  const pipe = await thrown(aisbx.SandboxError, () => files.read('pipe'))
  ok(pipe?.message.includes('not a regular file'), 'a pipe is not read', pipe)
  await sandbox.kill()
}

async function testPromote () {
  writeFileSync('a.txt', 'a\n')
  const sandbox = await Sandbox.create()
  await sandbox.commands.run('echo inside > a.txt; echo b > b.txt')
  writeFileSync('a.txt', 'outside\n')
  const conflict = await thrown(aisbx.ConflictError, () => sandbox.promote())
  ok(conflict?.promotion.conflicts[0].path === 'a.txt', 'a conflict, with its place', conflict)
  const dry = await sandbox.promote(undefined, { dryRun: true })
  ok(dry.dryRun && dry.conflicts.length === 1 && !existsSync('b.txt'), 'a dry run applies nothing', dry)
  ok((await sandbox.promote([])).applied.length === 0 && !existsSync('b.txt'), 'no path, no promotion')
  ok((await sandbox.promote(['b.txt'])).applied.join() === 'b.txt', 'the path named')
  const done = await sandbox.promote(undefined, { strategy: 'theirs' })
  ok(readFileSync('a.txt', 'utf8') === 'inside\n', 'a strategy')
  await undo(done)
  ok(readFileSync('a.txt', 'utf8') === 'outside\n', 'undo')
  await sandbox.files.write('Makefile', 'all:\n')
  const consent = await thrown(aisbx.ConsentError, () => sandbox.promote(['Makefile']))
  ok(consent?.promotion.consent[0].path === 'Makefile', 'what needs a person\'s word', consent)
  await sandbox.kill()
}

/** What changes on the host is seen by the next command and the next read. */
async function testFresh () {
  const { setup, ways } = JSON.parse(process.env.HOST_EDITS)
  const shell = (text) => execFileSync('sh', ['-ec', text], { stdio: 'ignore' })
  const sandbox = await Sandbox.create('ts-fresh')
  for (const [way, edit] of Object.entries(ways)) {
    const wanted = way === 'rm' ? '' : 'new\n'
    shell(setup)
    ok((await sandbox.commands.run('cat f')).stdout === 'old\n', `${way}: before`)
    shell(edit)
    ok((await sandbox.commands.run('cat f 2>/dev/null; :')).stdout === wanted, `${way}: a command sees it`)
    const read = way === 'rm' ? thrown(aisbx.NotFoundError, () => sandbox.files.read('f')) : sandbox.files.read('f')
    ok(way === 'rm' ? await read : await read === wanted, `${way}: and so does a read`)
  }
  await sandbox.kill()
}

async function testProgram () {
  const kept = process.env.AISBX
  process.env.AISBX = '/nonexistent/aisbx'
  ok(await thrown(aisbx.ProgramError, () => run('true')), 'no program')
  process.env.AISBX = '/bin/echo'
  ok(await thrown(aisbx.ProgramError, () => run('true')), 'an answer that is none')
  process.env.AISBX = kept
  const required = createRequire(import.meta.url)('aisbx')
  ok(required.Sandbox === Sandbox, 'require and import give the same')
}

for (const test of [testRun, testSandbox, testBackground, testFiles, testPromote, testFresh, testProgram]) {
  try {
    await test()
  } catch (error) {
    ok(false, `${test.name} comes to its end`, error.stack)
  }
}
console.log(`1..${count}`)
process.exit(failed ? 1 : 0)
