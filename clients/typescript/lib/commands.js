// SPDX-License-Identifier: Apache-2.0
'use strict'

const { randomBytes } = require('node:crypto')
const { performance } = require('node:perf_hooks')
const { StringDecoder } = require('node:string_decoder')
const program = require('./program.js')
const { ConflictError, NotFoundError, ProgramError } = require('./errors.js')

// The most that one call of poll writes to the command's stdin.
const INPUT_MAX = 1024 * 1024
const STREAMS = ['stdout', 'stderr']

class CommandHandle {
  #check
  #parts = { stdout: [], stderr: [] }
  #offsets = { stdout: 0, stderr: 0 }
  #result = null

  constructor (execId, check = true) {
    this.execId = execId
    this.#check = check
  }

  get pid () { return this.execId }
  get stdout () { return Buffer.concat(this.#parts.stdout).toString() }
  get stderr () { return Buffer.concat(this.#parts.stderr).toString() }

  async poll (waitMs) {
    await this.#look(program.duration(waitMs))
    return this.#result ? this.#finish(false) : null
  }

  async wait ({ onStdout, onStderr } = {}) {
    const tell = { stdout: onStdout, stderr: onStderr }
    const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
    // What was seen before is reported as well: a caller that waits wants all of it.
    const told = { stdout: 0, stderr: 0 }
    const until = performance.now() + program.limitOf()
    let ended = false
    while (!ended) {
      this.#mustEnd(until, 'end it with kill')
      await this.#look('30s')
      ended = this.#result !== null
      for (const key of STREAMS) {
        const fresh = Buffer.concat(this.#parts[key].slice(told[key]))
        told[key] = this.#parts[key].length
        const text = decoders[key].write(fresh) + (ended ? decoders[key].end() : '')
        if (text && tell[key]) tell[key](text)
      }
    }
    return this.#finish(this.#check)
  }

  async sendStdin (data) {
    let rest = Buffer.from(data)
    while (rest.length > 0) {
      const answer = await this.#ask(['--input-fd=0'], { stdin: rest.subarray(0, INPUT_MAX) })
      if (!(answer.input_bytes > 0)) {
        throw new ConflictError('the command does not read its stdin', 'conflict', 'try again when it does')
      }
      rest = rest.subarray(answer.input_bytes)
    }
  }

  async closeStdin () {
    await this.#ask(['--input-end'])
  }

  async kill (signal = 'KILL') {
    try {
      if (await this.poll()) return false
      await this.#ask([`--signal=${signal}`])
      const until = performance.now() + program.callMs()
      while (signal === 'KILL' && !(await this.poll(10000))) this.#mustEnd(until, 'aisbx stop ends its sandbox')
    } catch (error) {
      if (error instanceof NotFoundError) return false
      throw error
    }
    return true
  }

  #mustEnd (until, hint) {
    if (performance.now() > until) throw new ProgramError(`the command ${this.execId} does not end`, 'timeout', hint)
  }

  #ask (flags, options) {
    return program.askOne(['poll', '--json', `--offset=${this.#offsets.stdout}`,
      `--stderr-offset=${this.#offsets.stderr}`, ...flags, '--', this.execId], options)
  }

  /** Takes what is new, all of it. */
  async #look (wait) {
    let more = this.#result === null
    while (more) {
      const answer = await this.#ask(program.flagsOf({ wait }))
      for (const key of STREAMS) {
        const data = Buffer.from(answer[key] ?? '', answer[key + '_encoding'] === 'base64' ? 'base64' : 'utf8')
        this.#parts[key].push(data)
        this.#offsets[key] += data.length
      }
      if (!['running', 'done'].includes(answer.state) || (answer.more && !answer.stdout && !answer.stderr)) {
        throw new ProgramError('aisbx poll gave no answer that can be used')
      }
      more = answer.more === true
      if (!more) this.#result = answer.result ?? null
      wait = undefined
    }
  }

  #finish (check) {
    const streams = {}
    for (const key of STREAMS) {
      streams[key] = Buffer.concat(this.#parts[key]).toString('base64')
      streams[key + '_encoding'] = 'base64'
    }
    return program.judge({ ...this.#result, ...streams }, check)
  }
}

class Commands {
  #name

  constructor (name) {
    this.#name = name
  }

  async run (cmd, { background = false, envs, cwd, stdin, timeoutMs, output, check = true, onStdout, onStderr } = {}) {
    const flags = program.flagsOf({ time: program.duration(timeoutMs), output })
    const argv = program.wordsOf(cmd, cwd)
    if (!background && !onStdout && !onStderr) {
      return await program.runCommand(['exec', '--json', ...flags, this.#name, '--', ...argv], check,
        { stdin, cwd: '/', envs, timeoutMs })
    }
    const handle = await this.#start(flags, argv, envs, check)
    try {
      if (stdin !== undefined) await handle.sendStdin(stdin)
      if (stdin !== undefined || !background) await handle.closeStdin()
      return background ? handle : await handle.wait({ onStdout, onStderr })
    } catch (error) {
      await end(handle)
      throw error
    }
  }

  async connect (execId) {
    const handle = new CommandHandle(execId)
    await handle.poll()
    return handle
  }

  async list () {
    return (await program.askOne(['inspect', '--json', '--', this.#name])).execs ?? []
  }

  async kill (execId) {
    return await new CommandHandle(execId).kill()
  }

  async #start (flags, argv, envs, check) {
    // By its trace a command is found again whose id was lost on the way.
    const trace = `client-${randomBytes(16).toString('hex')}`
    const words = ['exec', '--json', '-d', `--trace=${trace}`, ...flags, this.#name, '--', ...argv]
    try {
      const [row] = program.readRows(await program.callProgram(words, { cwd: '/', envs }), 'exec')
      if (row?.exec_id) return new CommandHandle(row.exec_id, check)
      if (row) program.judge(row, true)
      throw new ProgramError('aisbx exec -d gave no answer')
    } catch (error) {
      if (error instanceof ProgramError) await endTraced(trace)
      throw error
    }
  }
}

/** Ends a command that the caller gets no handle of; the error that led here is what is told. */
async function end (handle) {
  await handle.kill().catch(() => {})
}

async function endTraced (trace) {
  const rows = await program.ask(['history', '--json', `--trace=${trace}`]).catch(() => [])
  for (const row of rows) await end(new CommandHandle(String(row.run_id)))
}

module.exports = { CommandHandle, Commands }
