// SPDX-License-Identifier: Apache-2.0
'use strict'

const { randomBytes } = require('node:crypto')
const path = require('node:path')
const program = require('./program.js')
const results = require('./results.js')
const { Commands } = require('./commands.js')
const { ConflictError, ConsentError, NotFoundError, ProgramError, UsageError, errorFrom } = require('./errors.js')
const { Files } = require('./files.js')

function settingsOf ({ workspace, profile, allow, deny, mem, cpu, pids, disk, flags = [] }) {
  const where = workspace === undefined ? undefined : path.resolve(workspace)
  return [...program.flagsOf({ workspace: where, profile, allow, deny, mem, cpu, pids, disk }), ...flags]
}

const madeUpName = () => `sbx-${randomBytes(4).toString('hex')}`
const nameOf = (snapshot) => (typeof snapshot === 'string' ? snapshot : snapshot.name)

async function run (cmd, options = {}) {
  const { cwd, stdin, timeoutMs, output, check = true } = options
  const flags = program.flagsOf({ time: program.duration(timeoutMs), output })
  return await program.runCommand(['run', '--json', ...settingsOf(options), ...flags, '--', ...program.wordsOf(cmd, cwd)],
    check, { stdin, envs: options.envs, timeoutMs })
}

async function undo (promotion) {
  const chosen = typeof promotion === 'object' ? promotion?.promotionId : promotion
  if (promotion !== undefined && !chosen) {
    throw new UsageError('this promotion applied nothing: there is nothing to take back', 'usage',
      'undo() without one takes back the last')
  }
  const answer = await program.askOne(['undo', '--json', '--', ...(chosen ? [chosen] : [])])
  return answer.paths ?? []
}

function pathsOf (paths) {
  if (!Array.isArray(paths) || !paths.every((one) => typeof one === 'string' && one)) {
    throw new UsageError('paths is an array of paths, none of them empty', 'usage', "promote(['a.txt'])")
  }
  return paths
}

class Sandbox {
  constructor (name) {
    this.name = name
    this.commands = new Commands(name)
    this.files = new Files(name)
  }

  get sandboxId () { return this.name }

  static async create (first, second) {
    const options = (typeof first === 'string' ? second : first) ?? {}
    const name = typeof first === 'string' ? first : madeUpName()
    const ttl = program.flagsOf({ ttl: program.duration(options.timeoutMs) })
    await program.askOne(['create', '--json', ...settingsOf(options), ...ttl, '--', name], { envs: options.envs })
    return new Sandbox(name)
  }

  static async connect (name) {
    await program.askOne(['inspect', '--json', '--', name])
    return new Sandbox(name)
  }

  static async list () {
    return (await program.ask(['ls', '--json'])).map(results.sandboxInfo)
  }

  async getInfo () {
    return results.sandboxInfo(await this.#ask('inspect'))
  }

  async isRunning () {
    return await this.#unlessGone(() => this.getInfo())
  }

  async kill () {
    return await this.#unlessGone(() => this.#ask('rm'))
  }

  async stop () {
    await this.#ask('stop')
  }

  async createSnapshot (message) {
    return results.snapshot(await this.#ask('snap', program.flagsOf({ message })))
  }

  async listSnapshots () {
    return (await program.ask(['snaps', '--json', '--', this.name])).map(results.snapshot)
  }

  async rollback (snapshot) {
    return (await this.#ask('rollback', [], snapshot === undefined ? [] : [nameOf(snapshot)])).snapshot
  }

  async fork (name = madeUpName(), { snapshot } = {}) {
    const source = snapshot === undefined ? this.name : `${this.name}@${nameOf(snapshot)}`
    await program.askOne(['fork', '--json', '--', source, name])
    return new Sandbox(name)
  }

  async diff () {
    return (await program.ask(['diff', '--json', '--', this.name])).map(results.change)
  }

  async patch () {
    await this.getInfo()
    const answer = await program.callProgram(['diff', '--patch', '--', this.name])
    if (answer.status !== 0) throw new ProgramError(`aisbx diff exited with ${answer.status}`)
    return answer.stdout.toString()
  }

  async promote (paths, { strategy, dryRun = false, allowPaths, gates, snapshot, flags = [] } = {}) {
    const more = program.flagsOf({
      strategy,
      'dry-run': dryRun,
      'allow-path': allowPaths,
      gate: gates,
      snap: snapshot === undefined ? undefined : nameOf(snapshot)
    })
    const chosen = paths === undefined ? [] : pathsOf(paths)
    if (paths !== undefined && chosen.length === 0) return results.promotion({ promotion_id: null, dry_run: dryRun })
    const words = ['promote', '--json', ...more, ...flags, '--', this.name, ...chosen]
    const rows = program.readRows(await program.callProgram(words), 'promote')
    if (rows.length !== 1 || !('applied' in rows[0] || 'error' in rows[0])) {
      throw new ProgramError('aisbx promote gave no answer that says what was applied', 'internal', 'look with promotions')
    }
    const raw = rows[0]
    const promotion = results.promotion(raw)
    const known = 'conflicts' in raw
    if (raw.error && !(dryRun && known)) {
      const error = errorFrom(raw.error)
      if (known && (error instanceof ConflictError || error instanceof ConsentError)) error.promotion = promotion
      throw error
    }
    return promotion
  }

  async refresh () {
    await this.#ask('refresh')
  }

  #ask (verb, flags = [], words = []) {
    return program.askOne([verb, '--json', ...flags, '--', this.name, ...words])
  }

  async #unlessGone (call) {
    try {
      await call()
    } catch (error) {
      if (error instanceof NotFoundError) return false
      throw error
    }
    return true
  }
}

module.exports = { Sandbox, run, undo }
