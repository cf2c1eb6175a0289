// SPDX-License-Identifier: Apache-2.0
'use strict'

const program = require('./program.js')
const { NotFoundError, SandboxError } = require('./errors.js')

// The most that one read brings back.
const READ_MAX = '1g'
// A pipe would be waited for, a device never ends.
const FILE_ONLY = '[ ! -e "$1" ] || [ -f "$1" ] || { echo "$1: not a regular file" >&2; exit 1; }; '
const READ = FILE_ONLY + 'exec cat -- "$1"'
const WRITE = FILE_ONLY + 'mkdir -p -- "${1%/*}/" && exec cat > "$1"'
const TYPES = { f: 'file', d: 'dir', l: 'link' }

/** A path that looks like an option, or like a word of find's language, is none. */
function plain (path) {
  return path.startsWith('/') ? path : `./${path}`
}

class Files {
  #name

  constructor (name) {
    this.#name = name
  }

  async read (path, { format = 'text' } = {}) {
    const result = await this.#do(['/bin/sh', '-c', READ, 'sh', plain(path)], path, { output: READ_MAX })
    if (result.truncated) throw new SandboxError(`${path} is larger than ${READ_MAX}`, 'input', 'copy it out with aisbx cp')
    return format === 'bytes' ? result.stdoutData : result.stdout
  }

  async write (path, data) {
    await this.#do(['/bin/sh', '-c', WRITE, 'sh', plain(path)], path, { stdin: data })
    return await this.getInfo(path)
  }

  async list (path = '.', { depth = 1 } = {}) {
    return await this.#find(path, ['-mindepth', '1', '-maxdepth', String(depth), '-printf', '%y\\0%s\\0%m\\0%P\\0'])
  }

  async getInfo (path) {
    return (await this.#find(path, ['-maxdepth', '0', '-printf', '%y\\0%s\\0%m\\0\\0']))[0]
  }

  async exists (path) {
    try {
      await this.getInfo(path)
    } catch (error) {
      if (error instanceof NotFoundError) return false
      throw error
    }
    return true
  }

  async remove (path) {
    await this.getInfo(path)
    await this.#do(['rm', '-rf', '--', path], path)
  }

  async rename (oldPath, newPath) {
    await this.#do(['mv', '-fT', '--', oldPath, newPath], oldPath)
    return await this.getInfo(newPath)
  }

  async makeDir (path) {
    if (await this.exists(path)) {
      await this.#do(['test', '-d', path], path)
      return false
    }
    await this.#do(['mkdir', '-p', '--', path], path)
    return true
  }

  async #find (path, words) {
    const result = await this.#do(['find', plain(path), ...words], path, { output: READ_MAX })
    const cells = result.stdoutData.toString().split('\0')
    const entries = []
    for (let at = 0; at + 4 <= cells.length; at += 4) {
      const [kind, size, mode, inner] = cells.slice(at, at + 4)
      const whole = !inner ? path : path === '.' ? inner : `${path.replace(/\/+$/, '')}/${inner}`
      const name = whole.replace(/\/+$/, '').split('/').pop()
      entries.push({ name, path: whole, type: TYPES[kind] ?? 'other', size: Number(size), mode: parseInt(mode, 8) })
    }
    return entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  }

  async #do (command, path, { stdin, output } = {}) {
    // The words of an error are compared below, so they are asked for in one language.
    const timeoutMs = program.callMs()
    const flags = program.flagsOf({ env: 'LC_ALL=C', time: program.duration(timeoutMs), output })
    const result = await program.runCommand(['exec', '--json', ...flags, this.#name, '--', ...command], false,
      { stdin, cwd: '/', timeoutMs })
    if (result.status === 'success') return result
    const said = result.stderr.trim().split('\n').pop() || `${path}: failed with exit code ${result.exitCode}`
    if (said.includes('No such file or directory')) throw new NotFoundError(said, 'not_found')
    throw new SandboxError(said, result.status === 'error' ? 'denied' : result.status)
  }
}

module.exports = { Files }
