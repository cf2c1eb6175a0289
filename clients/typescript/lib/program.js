// SPDX-License-Identifier: Apache-2.0
'use strict'

// The one way to the program: finds it, calls it with --json, turns what it says into values or errors.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { CommandExitError, ProgramError, TimeoutError, UsageError, errorFrom } = require('./errors.js')
const { runResult } = require('./results.js')

const limits = { call: 600e3, command: 86400e3 }
const END_MS = 5000
// A longer timer would run out at once.
const TIMER_MAX = 2 ** 31 - 1
const NOTES_MAX = 500
const UNITS = { ms: 1, s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 }
const UNKNOWN = 'whether it took effect is not known: look before you do it again'
const STATES = ['success', 'error', 'timeout', 'oom', 'killed', 'limit', 'denied', 'internal']

// Beside this package's sources, where it was packed with the program.
const PACKED = path.join(__dirname, '..', 'bin', 'aisbx')

/**
 * The path in AISBX, else the program that came with this package, else `aisbx` on the PATH. (Inside a sandbox AISBX is
 * just a mark, without a slash.)
 */
function findProgram () {
  const named = process.env.AISBX ?? ''
  if (named.includes('/')) return named
  return fs.existsSync(PACKED) ? PACKED : 'aisbx'
}

/**
 * Sets how long the program is waited for: `callMs` is what a call may take beyond the time of a command it runs,
 * `commandMs` what a command may take that has no `timeoutMs` of its own.
 */
function setLimits ({ callMs, commandMs } = {}) {
  if (callMs !== undefined) limits.call = Number(callMs)
  if (commandMs !== undefined) limits.command = Number(commandMs)
}

/** How long a call may take beyond the time of a command. */
function callMs () {
  return limits.call
}

/** How long a call may take that runs a command with this time limit. */
function limitOf (timeoutMs) {
  return limits.call + (timeoutMs ? millisecondsOf(timeoutMs) : limits.command)
}

/** A duration as the program takes it; what cannot be read is for the program to refuse. */
function millisecondsOf (value) {
  if (typeof value === 'number') return value
  const match = /^([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?$/.exec(value.trim())
  return match ? Number(match[1]) * UNITS[match[2] ?? 's'] : limits.command
}

/** The variables, each ended by a null byte; null where there are none. */
function variablesOf (envs) {
  const pairs = Object.entries(envs ?? {})
  if (pairs.some(([name, value]) => name.includes('=') || `${name}${value}`.includes('\0'))) {
    throw new UsageError("a variable has '=' in its name, or a null byte", 'usage', 'leave that out')
  }
  return pairs.length > 0 ? pairs.map(([name, value]) => `${name}=${value}\0`).join('') : null
}

/** Writes DATA and ends STREAM; the program may end without reading all of it. */
function feed (stream, data) {
  stream.on('error', () => {})
  stream.end(data)
}

/**
 * Runs the program to its end: what it prints on stdout, and the status it exits with. ENVS are the command's
 * variables; they pass by descriptor, because other users can read a command line.
 */
async function callProgram (words, { stdin, cwd, envs, limit = limits.call } = {}) {
  const variables = variablesOf(envs)
  const argv = variables === null ? words : [words[0], '--env-fd=3', ...words.slice(1)]
  const stdio = [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...(variables === null ? [] : ['pipe'])]
  return await new Promise((resolve, reject) => {
    const program = findProgram()
    const child = spawn(program, argv, { cwd, stdio })
    const parts = []
    let notes = ''
    let isLate = false
    const timers = [setTimeout(() => {
      isLate = true
      child.kill('SIGTERM')
      timers.push(setTimeout(() => child.kill('SIGKILL'), END_MS))
      // Something that it started may hold its stdout open.
      timers.push(setTimeout(() => ended(null, 'SIGKILL'), 2 * END_MS))
    }, Math.min(limit, TIMER_MAX))]
    const ended = (status, signal) => {
      timers.forEach(clearTimeout)
      child.stdio.forEach((stream) => stream?.destroy())
      try {
        resolve({ stdout: Buffer.concat(parts), status: statusOf(words[0], { status, signal, isLate, limit, notes, parts }) })
      } catch (error) {
        reject(error)
      }
    }
    child.on('error', (problem) => {
      timers.forEach(clearTimeout)
      reject(new ProgramError(`${program}: ${problem.message}`, 'not_found', 'install it, or name it in AISBX'))
    })
    child.stdout?.on('data', (part) => parts.push(part))
    child.stderr?.on('data', (part) => { notes = (notes + part).slice(-NOTES_MAX) })
    child.on('close', ended)
    if (stdin !== undefined && child.stdin) feed(child.stdin, stdin)
    if (variables !== null && child.stdio?.[3]) feed(child.stdio[3], variables)
  })
}

/** The exit status; throws where the program did not come to its own end, or failed without an answer. */
function statusOf (verb, { status, signal, isLate, limit, notes, parts }) {
  if (isLate) throw new ProgramError(`aisbx ${verb} took longer than ${limit} ms and was ended`, 'timeout', UNKNOWN)
  if (signal !== null) throw new ProgramError(`aisbx ${verb} was ended by signal ${signal}`, 'killed', UNKNOWN)
  if (status !== 0 && parts.length === 0) {
    const last = notes.trim().split('\n').pop()
    throw new ProgramError(`aisbx ${verb} exited with ${status}${last ? `: ${last}` : ''}`)
  }
  return status
}

/** The objects of an answer, one a line; one that does not say why the program failed is none. */
function readRows ({ stdout, status }, verb) {
  let rows
  try {
    rows = stdout.toString().split('\n').filter((line) => line.trim()).map((line) => JSON.parse(line))
  } catch {
    rows = [null]
  }
  if (!rows.every((row) => row !== null && typeof row === 'object' && !Array.isArray(row))) {
    throw new ProgramError(`aisbx ${verb} gave no answer that can be read`)
  }
  const isRun = verb === 'run' || verb === 'exec'
  if (status !== 0 && !rows.some((row) => row.error || (isRun && row.status))) {
    throw new ProgramError(`aisbx ${verb} exited with ${status} and gave no reason`)
  }
  return rows
}

/** The objects the program answers with; what it refuses is thrown. WORDS have --json among them. */
async function ask (words, options) {
  const rows = readRows(await callProgram(words, options), words[0])
  for (const row of rows) {
    if (row.error) throw errorFrom(row.error)
  }
  return rows
}

/** As ask, for verbs that answer with one object. */
async function askOne (words, options) {
  const rows = await ask(words, options)
  if (rows.length !== 1) {
    throw new ProgramError(`aisbx ${words[0]} gave ${rows.length} answers where one was expected`)
  }
  return rows[0]
}

/** `run` or `exec` with its flags and command in WORDS; throws unless it ran (CHECK: and succeeded). */
async function runCommand (words, check, { timeoutMs, ...options }) {
  const answer = await callProgram(words, { ...options, limit: limitOf(timeoutMs) })
  const rows = readRows(answer, words[0])
  if (rows.length !== 1 || !(rows[0].status || rows[0].error)) throw new ProgramError(`aisbx ${words[0]} gave no result`)
  if ((answer.status === 0) !== (rows[0].status === 'success')) {
    throw new ProgramError(`aisbx ${words[0]} exited with ${answer.status}, which its result denies`)
  }
  return judge(rows[0], check)
}

/** The result in RAW; throws what was refused, and with CHECK what did not succeed. */
function judge (raw, check) {
  if (raw.error) throw errorFrom(raw.error)
  if (!STATES.includes(raw.status)) throw new ProgramError('aisbx gave a result without a status')
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

module.exports = {
  ask, askOne, callMs, callProgram, duration, flagsOf, judge, limitOf, readRows, runCommand, setLimits, wordsOf
}
