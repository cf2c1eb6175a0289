// SPDX-License-Identifier: Apache-2.0
'use strict'

class SandboxError extends Error {
  constructor (message, code = 'internal', hint = null) {
    super(message)
    this.name = this.constructor.name
    this.code = code
    this.hint = hint ?? null
  }
}

class ProgramError extends SandboxError {}
class UsageError extends SandboxError {}
class NotFoundError extends SandboxError {}
class DeniedError extends SandboxError {}
class ConflictError extends SandboxError {}
class ConsentError extends SandboxError {}

class CommandExitError extends SandboxError {
  constructor (result, message, hint = null) {
    super(message, result.status, hint)
    this.result = result
  }

  get exitCode () { return this.result.exitCode }
  get stdout () { return this.result.stdout }
  get stderr () { return this.result.stderr }
}

class TimeoutError extends CommandExitError {}

const CLASSES = {
  usage: UsageError,
  input: UsageError,
  not_found: NotFoundError,
  denied: DeniedError,
  conflict: ConflictError,
  consent: ConsentError
}

/** The exception for an error object of the program. */
function errorFrom (error) {
  const code = error.code ?? 'internal'
  const Kind = CLASSES[code] ?? SandboxError
  return new Kind(error.message ?? code, code, error.hint)
}

module.exports = {
  CommandExitError,
  ConflictError,
  ConsentError,
  DeniedError,
  NotFoundError,
  ProgramError,
  SandboxError,
  TimeoutError,
  UsageError,
  errorFrom
}
