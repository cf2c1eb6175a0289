// SPDX-License-Identifier: Apache-2.0
'use strict'

// Names are spelt out, so that `import { Sandbox } from 'aisbx'` finds them as well.
const { Commands, CommandHandle } = require('./lib/commands.js')
const { Files } = require('./lib/files.js')
const { setLimits } = require('./lib/program.js')
const { Sandbox, run, undo } = require('./lib/sandbox.js')
const {
  CommandExitError, ConflictError, ConsentError, DeniedError, NotFoundError, ProgramError, SandboxError, TimeoutError,
  UsageError
} = require('./lib/errors.js')

module.exports = {
  CommandExitError,
  CommandHandle,
  Commands,
  ConflictError,
  ConsentError,
  DeniedError,
  Files,
  NotFoundError,
  ProgramError,
  Sandbox,
  SandboxError,
  TimeoutError,
  UsageError,
  run,
  setLimits,
  undo
}
