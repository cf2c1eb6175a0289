'use strict'

// The one way to the program: finds it, calls it with --json, turns what it says into values or errors.

const { spawn } = require('node:child_process')
const { CommandExitError, ProgramError, TimeoutError, errorFrom } = require('./errors.js')
const { runResult } = require('./results.js')

/** The path in AISBX, else `aisbx` on the PATH. (Inside a sandbox AISBX is just a mark, without a slash.) */
function findProgram () {
  const named = process.env.AISBX ?? ''
  return named.includes('/') ? named : 'aisbx'
}

/** What the program prints on stdout. */
function callBytes (words, { stdin, cwd } = {}) {
  return new Promise((resolve, reject) => {
    const program = findProgram()
    const child = spawn(program, words, { cwd, stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'ignore'] })
    const parts = []
    child.on('error', (problem) =>
      reject(new ProgramError(`${program}: ${problem.message}`, 'not_found', 'install it, or name it in AISBX')))
    child.stdout.on('data', (part) => parts.push(part))
    child.on('close', () => resolve(Buffer.concat(parts)))
    if (stdin !== undefined) {
      // A command may end without reading all of it.
      child.stdin.on('error', () => {})
      child.stdin.end(stdin)
    }
  })
}

/** The objects the program answers with, one a line. WORDS have --json among them. */
async function call (words, options) {
  const answer = await callBytes(words, options)
  let rows
  try {
    rows = answer.toString().split('\n').filter((line) => line.trim()).map((line) => JSON.parse(line))
  } catch {
    rows = [null]
  }
  if (!rows.every((row) => row !== null && typeof row === 'object' && !Array.isArray(row))) {
    throw new ProgramError(`aisbx ${words[0]} gave no answer that can be read`)
  }
  return rows
}

/** As call, but what the program refuses is thrown. */
async function ask (words) {
  const rows = await call(words)
  for (const row of rows) {
    if (row.error) throw errorFrom(row.error)
  }
  return rows
}

/** As ask, for verbs that answer with one object. */
async function askOne (words) {
  const rows = await ask(words)
  if (rows.length !== 1) {
    throw new ProgramError(`aisbx ${words[0]} gave ${rows.length} answers where one was expected`)
  }
  return rows[0]
}

/** `run` or `exec` with its flags and command in WORDS; throws unless it ran (CHECK: and succeeded). */
async function runCommand (words, check, options) {
  const rows = await call(words, options)
  if (rows.length !== 1 || !rows[0].status) throw new ProgramError(`aisbx ${words[0]} gave no result`)
  return judge(rows[0], check)
}

/** The result in RAW; throws what was refused, and with CHECK what did not succeed. */
function judge (raw, check) {
  if (raw.error) throw errorFrom(raw.error)
  const result = runResult(raw)
  if (result.status === 'denied' || result.status === 'internal') {
    throw errorFrom({ code: result.status, message: result.error })
  }
  if (!check || result.status === 'success') return result
  const Kind = result.status === 'timeout' ? TimeoutError : CommandExitError
  throw new Kind(result, why(result), result.denials[0]?.hint)
}

/** One sentence: how it ended, and the last thing it said. */
function why (result) {
  const text = result.status === 'error'
    ? `the command exited with ${result.exitCode}`
    : result.raw.notes?.[0] ?? `the command ended with status ${result.status}`
  const last = (result.error ?? result.stderr.trim().split('\n').pop()).slice(0, 500)
  return last ? `${text}: ${last}` : text
}

/** The command as argv: a string is for `sh -c`, an array is passed exactly; CWD is entered inside. */
function wordsOf (command, cwd) {
  const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : [...command]
  return cwd === undefined ? argv : ['/bin/sh', '-c', 'cd -- "$1" && shift && exec "$@"', 'sh', cwd, ...argv]
}

/** A number is milliseconds; text is as the program takes it. */
function duration (value) {
  if (value === undefined || value === 0) return undefined
  return typeof value === 'string' ? value : `${Math.max(1, Math.round(value))}ms`
}

/** Settings as flags: what is undefined is left out, true is a switch, arrays and maps repeat. */
function flagsOf (settings) {
  const flags = []
  for (const [key, value] of Object.entries(settings)) {
    const name = `--${key}`
    if (value === undefined || value === false) continue
    if (value === true) flags.push(name)
    else if (Array.isArray(value)) flags.push(...value.map((item) => `${name}=${item}`))
    else if (typeof value === 'object') {
      flags.push(...Object.entries(value).map(([inner, content]) => `${name}=${inner}=${content}`))
    } else flags.push(`${name}=${value}`)
  }
  return flags
}

module.exports = { ask, askOne, call, callBytes, duration, flagsOf, judge, runCommand, wordsOf }
