'use strict'

// The TypeScript client over a program that fails in every way; speaks TAP. Started by test-client-failures.py with the
// package, the folder of the stand-ins and a folder for their notes.
const fs = require('node:fs')
const path = require('node:path')

const [, , pack, stands, log] = process.argv
const aisbx = require(pack)
const { Sandbox, run, undo } = aisbx

const FAILURES = ['killed', 'killed-behind-its-answer', 'aborted-within-a-list', 'hangs', 'hangs-with-its-answer-out',
  'hangs-with-its-streams-closed', 'half', 'half-of-a-list', 'no-object', 'null', 'no-json', 'fails-without-a-word',
  'says-nothing', 'says-success-and-fails', 'fails-behind-rows']
const LISTS = ['list', 'listSnapshots', 'diff']

const box = new Sandbox('x')
const CALLS = {
  run: () => run('true'),
  'run, check: false': () => run('true', { check: false }),
  create: () => Sandbox.create(),
  connect: () => Sandbox.connect('x'),
  list: () => Sandbox.list(),
  getInfo: () => box.getInfo(),
  isRunning: () => box.isRunning(),
  kill: () => box.kill(),
  stop: () => box.stop(),
  createSnapshot: () => box.createSnapshot(),
  listSnapshots: () => box.listSnapshots(),
  rollback: () => box.rollback(),
  fork: () => box.fork(),
  diff: () => box.diff(),
  patch: () => box.patch(),
  promote: () => box.promote(),
  'promote, paths': () => box.promote(['a']),
  'promote, dryRun': () => box.promote(undefined, { dryRun: true }),
  refresh: () => box.refresh(),
  undo: () => undo(),
  'undo, by id': () => undo('01J'),
  'commands.run': () => box.commands.run('true'),
  'commands.run, told': () => box.commands.run('true', { onStdout: () => {} }),
  'commands.run, background': () => box.commands.run('true', { background: true }),
  'commands.list': () => box.commands.list(),
  'commands.connect': () => box.commands.connect('01J'),
  'commands.kill': () => box.commands.kill('01J'),
  'files.read': () => box.files.read('a'),
  'files.write': () => box.files.write('a', 'b'),
  'files.list': () => box.files.list(),
  'files.exists': () => box.files.exists('a'),
  'files.remove': () => box.files.remove('a'),
  'files.rename': () => box.files.rename('a', 'b'),
  'files.makeDir': () => box.files.makeDir('a')
}

let count = 0
let failed = 0

function ok (good, what, detail) {
  count++
  if (!good) failed++
  console.log(`${good ? 'ok' : 'not ok'} ${count} - typescript: ${what}`)
  if (!good && detail !== undefined) console.log('#   ' + JSON.stringify(detail)?.slice(0, 1500))
}

function fake (mode) {
  fs.rmSync(log, { recursive: true, force: true })
  fs.mkdirSync(log)
  Object.assign(process.env, {
    AISBX: path.join(stands, 'fake-aisbx'), FAKE: mode, FAKE_LOG: log, FAKE_POLL: path.join(stands, 'fake-poll')
  })
}

const notes = () => (fs.existsSync(log + '/calls') ? fs.readFileSync(log + '/calls', 'utf8') : '')
const isEnded = () => /^poll .*--signal=KILL/m.test(notes())

/** The class of the error, or what came back. */
async function outcome (call) {
  try {
    return `came back with ${JSON.stringify(await call())}`
  } catch (error) {
    return error.constructor.name
  }
}

async function testFailures () {
  for (const mode of FAILURES) {
    fake(mode)
    aisbx.setLimits(mode.startsWith('hangs') ? { callMs: 50, commandMs: 20 } : { callMs: 600e3, commandMs: 86400e3 })
    const wrong = {}
    for (const [name, call] of Object.entries(CALLS)) {
      const found = await outcome(call)
      const want = mode === 'says-nothing' && LISTS.includes(name) ? 'came back with []' : 'ProgramError'
      if (found !== want) wrong[name] = found
    }
    ok(Object.keys(wrong).length === 0, mode, wrong)
  }
  fake('deaf')
  aisbx.setLimits({ callMs: 50, commandMs: 20 })
  ok(await outcome(() => run('true')) === 'ProgramError', 'a program that does not mind TERM is killed')
  aisbx.setLimits({ callMs: 600e3, commandMs: 86400e3 })
}

async function testNothing () {
  fake('answers')
  const done = await box.promote([])
  ok(done.applied.length === 0 && done.promotionId === null && notes() === '', 'promote([]) applies and asks nothing', done)
  const refused = [() => undo(done), () => undo(''), () => undo(null), () => box.promote('a.txt'), () => box.promote([''])]
  const found = await Promise.all(refused.map(outcome))
  ok(found.every((one) => one === 'UsageError') && notes() === '', 'what names nothing is refused', found)
  await box.promote()
  await box.promote(['a', 'b'])
  await undo()
  ok(notes() === 'promote --json -- x||\npromote --json -- x a b||\nundo --json --||\n', 'what names something is passed on',
    notes())
}

async function testPrivate () {
  fake('takes-input')
  const secret = 's3cret value\nof two lines'
  const options = { envs: { A: secret, B: '' }, stdin: Buffer.from([0, 255, 128, 10, 13, 0]) }
  await box.commands.run('true', { background: true, ...options })
  ok(notes().includes(`|A=${secret};B=;|`) && notes().includes('00ff800a0d00'), 'variables and bytes arrive', notes())
  fake('answers')
  await run('true', options)
  await Sandbox.create('x', options)
  await box.commands.run('true', options)
  const words = notes().split('\n').map((line) => line.split('|')[0])
  ok(words.length > 3 && !words.some((line) => line.includes('s3cret')), 'no command line holds them', words)
  ok(await outcome(() => run('true', { envs: { A: 'a\0B=b' } })) === 'UsageError', 'a null byte in a variable is refused')
}

async function testEnded () {
  for (const mode of ['loses-the-id', 'kills-the-id']) {
    fake(mode)
    const found = await outcome(() => box.commands.run('true', { background: true }))
    ok(found === 'ProgramError' && isEnded(), `exec -d that ${mode}`, notes())
  }
  fake('refuses-input')
  const found = await outcome(() => box.commands.run('true', { background: true, stdin: 'x' }))
  ok(found === 'ConflictError' && isEnded(), 'input that is not taken', found)
}

async function main () {
  for (const test of [testFailures, testNothing, testPrivate, testEnded]) await test()
  console.log(`1..${count}`)
  process.exitCode = failed ? 1 : 0
}

main()
