'use strict'

const { StringDecoder } = require('node:string_decoder')
const program = require('./program.js')
const { ConflictError, NotFoundError } = require('./errors.js')

// What one call takes on its command line, with room to spare.
const INPUT_MAX = 32 * 1024
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
    // What was seen before is told as well: whoever waits wants all of it.
    const told = { stdout: 0, stderr: 0 }
    let ended = false
    while (!ended) {
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
      // Cut where a character begins.
      let end = Math.min(rest.length, INPUT_MAX)
      while (end < rest.length && (rest[end] & 0xc0) === 0x80) end--
      const answer = await this.#ask([`--input=${rest.subarray(0, end).toString()}`])
      if (!answer.input_bytes) {
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
      while (signal === 'KILL' && !(await this.poll(10000)));
    } catch (error) {
      if (error instanceof NotFoundError) return false
      throw error
    }
    return true
  }

  #ask (flags) {
    return program.askOne(['poll', '--json', `--offset=${this.#offsets.stdout}`,
      `--stderr-offset=${this.#offsets.stderr}`, ...flags, '--', this.execId])
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
    const flags = program.flagsOf({ time: program.duration(timeoutMs), output, env: envs })
    const argv = program.wordsOf(cmd, cwd)
    if (!background && !onStdout && !onStderr) {
      return await program.runCommand(['exec', this.#name, '--json', ...flags, '--', ...argv], check, { stdin, cwd: '/' })
    }
    const handle = await this.#start(flags, argv, check)
    if (stdin !== undefined) await handle.sendStdin(stdin)
    if (stdin !== undefined || !background) await handle.closeStdin()
    return background ? handle : await handle.wait({ onStdout, onStderr })
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

  async #start (flags, argv, check) {
    const rows = await program.call(['exec', '-d', this.#name, '--json', ...flags, '--', ...argv], { cwd: '/' })
    if (!rows[0]?.exec_id) {
      program.judge(rows[0] ?? { status: 'internal', message: 'aisbx exec -d gave no answer' }, true)
    }
    return new CommandHandle(rows[0].exec_id, check)
  }
}

module.exports = { CommandHandle, Commands }
