// SPDX-License-Identifier: Apache-2.0
/**
 * Run commands in throw-away copies of this machine: the TypeScript client of the program `aisbx`.
 *
 *     import { Sandbox, run } from 'aisbx'
 *
 *     console.log((await run('rm -rf --no-preserve-root / ; echo still here')).stdout)
 *     const sandbox = await Sandbox.create()
 *     await sandbox.commands.run('make test')
 *     console.log(await sandbox.diff())
 *     await sandbox.kill()
 */

/** A string is for `sh -c`, an array is passed exactly. */
export type Command = string | readonly string[]

/** A number is milliseconds; text is as the program takes it: "500ms", "30s", "2h". */
export type Duration = number | string

export interface Changes {
  added: number
  modified: number
  deleted: number
}

/** Something the command tried and was not allowed: which layer, what, by which rule, and the way out. */
export interface Denial {
  layer: string
  what: string
  rule: string | null
  hint: string | null
  count: number
}

/** What came of a command. */
export interface RunResult {
  status: 'success' | 'error' | 'timeout' | 'oom' | 'killed' | 'limit'
  exitCode: number
  /** As text; bytes that are not UTF-8 are replaced here and exact in `stdoutData`. */
  stdout: string
  stderr: string
  stdoutData: Buffer
  stderrData: Buffer
  /** Whether something was written that was not kept. */
  truncated: boolean
  signal: number | null
  runId: string | null
  sandbox: string | null
  command: string[]
  durationMs: number
  cpuMs: number
  peakMemoryBytes: number | null
  limitsHit: string[]
  degraded: string[]
  denials: Denial[]
  changes: Changes
  error: string | null
  /** The whole object as `aisbx run --json` prints it. */
  raw: Record<string, unknown>
}

/** One sandbox as `aisbx ls` knows it. */
export interface SandboxInfo {
  name: string
  base: string | null
  state: string
  created: string | null
  expires: string | null
  snapshots: number
  changes: Changes
  diskBytes: number
  raw: Record<string, unknown>
}

/** A saved state. */
export interface Snapshot {
  name: string
  parent: string | null
  message: string | null
  made: string | null
  /** Saved by a rollback, by itself. */
  auto: boolean
  /** The one the sandbox stands on. */
  current: boolean
}

/** One path that differs from the host. */
export interface Change {
  op: string
  path: string
  type: string
  oldPath: string | null
  raw: Record<string, unknown>
}

/** What a promotion did, or with `dryRun` would do. */
export interface Promotion {
  /** What `undo` takes; null when nothing was applied. */
  promotionId: string | null
  applied: string[]
  merged: string[]
  skipped: string[]
  /** Where the host moved. */
  conflicts: Record<string, unknown>[]
  /** What a person has to agree to. */
  consent: Record<string, unknown>[]
  dryRun: boolean
  raw: Record<string, unknown>
}

/** One entry of a directory in a sandbox. */
export interface EntryInfo {
  name: string
  path: string
  type: 'file' | 'dir' | 'link' | 'other'
  size: number
  mode: number
}

/** Limits and rules, as the flags of the same names. */
export interface Settings {
  /** The directory worked in; default: the enclosing git root or the current one. */
  workspace?: string
  profile?: string
  envs?: Record<string, string>
  /** Network rules, such as "api.example.org:443"; without one there is no network. */
  allow?: readonly string[]
  deny?: readonly string[]
  mem?: string
  cpu?: number
  pids?: number
  disk?: string
  /** Further flags, as on the command line. */
  flags?: readonly string[]
}

export interface CreateOptions extends Settings {
  /** Removes the sandbox after this time; without it, it stays until `kill`. */
  timeoutMs?: Duration
}

export interface CommandOptions {
  envs?: Record<string, string>
  /** Where it starts, inside; default: the top of the workspace. */
  cwd?: string
  stdin?: string | Uint8Array
  timeoutMs?: Duration
  /** What is kept of each stream, such as "4m". */
  output?: string
  /** false: a command that fails or runs out of time is a result, not an error. */
  check?: boolean
  /** Get what it writes while it runs. */
  onStdout?: (text: string) => void
  onStderr?: (text: string) => void
}

export interface RunOptions extends Settings, Omit<CommandOptions, 'onStdout' | 'onStderr'> {}

export interface PromoteOptions {
  strategy?: 'fail' | 'merge' | 'ours' | 'theirs' | 'lww'
  dryRun?: boolean
  /** Agrees to what could make something run on this machine. */
  allowPaths?: readonly string[]
  gates?: readonly string[]
  snapshot?: string | Snapshot
  /** Further flags of `aisbx promote`, such as "--kill" for processes that still run. */
  flags?: readonly string[]
}

/** Runs a command in a throw-away copy of this machine: `aisbx run`. Throws as `commands.run` does. */
export function run(cmd: Command, options?: RunOptions): Promise<RunResult>

/** Takes a promotion back (default: the last one of this directory's workspace); the paths that are as before. */
export function undo(promotion?: string | Promotion): Promise<string[]>

/**
 * Sets how long the program is waited for, in milliseconds: `callMs` is what a call may take beyond the time of a
 * command it runs (ten minutes at first), `commandMs` what a command may take without a `timeoutMs` of its own (a day at
 * first). A program that takes longer is ended, and ProgramError thrown with the code "timeout".
 */
export function setLimits(limits: { callMs?: number, commandMs?: number }): void

/** A command in the background; it lives on when this program is gone. */
export class CommandHandle {
  readonly execId: string
  /** The same as `execId`. */
  readonly pid: string
  /** What it wrote so far, as of the last look. */
  readonly stdout: string
  readonly stderr: string
  /** Looks at it: its result once it has ended, else null. Waits as long as told for something new. */
  poll(waitMs?: Duration): Promise<RunResult | null>
  /** Waits for its end; throws as `commands.run` does. */
  wait(options?: Pick<CommandOptions, 'onStdout' | 'onStderr'>): Promise<RunResult>
  sendStdin(data: string | Uint8Array): Promise<void>
  closeStdin(): Promise<void>
  /** Sends it a signal (default "KILL", and then waits for its end); false when it has ended already. */
  kill(signal?: string): Promise<boolean>
}

/** Commands of one sandbox. They start at the top of its workspace unless `cwd` says otherwise. */
export class Commands {
  /** Runs a command and waits for it; with `background` it goes on by itself, and a handle comes back. */
  run(cmd: Command, options: CommandOptions & { background: true }): Promise<CommandHandle>
  run(cmd: Command, options?: CommandOptions & { background?: false }): Promise<RunResult>
  /** A command in the background that was started before, by whomever. */
  connect(execId: string): Promise<CommandHandle>
  /** Commands in the background of this sandbox that run. */
  list(): Promise<Record<string, unknown>[]>
  kill(execId: string): Promise<boolean>
}

/** Files of one sandbox, with what a command in it may do. Relative paths start at the top of its workspace. */
export class Files {
  read(path: string, options?: { format?: 'text' }): Promise<string>
  read(path: string, options: { format: 'bytes' }): Promise<Buffer>
  /** Writes a file, with the directories that lead to it. */
  write(path: string, data: string | Uint8Array): Promise<EntryInfo>
  list(path?: string, options?: { depth?: number }): Promise<EntryInfo[]>
  getInfo(path: string): Promise<EntryInfo>
  exists(path: string): Promise<boolean>
  /** Removes a file, or a directory with all in it. */
  remove(path: string): Promise<void>
  rename(oldPath: string, newPath: string): Promise<EntryInfo>
  /** Makes a directory and those that lead to it; false when it was there already. */
  makeDir(path: string): Promise<boolean>
}

/** A named copy of this machine that keeps what happens in it. Nothing of it reaches the host until `promote`. */
export class Sandbox {
  readonly name: string
  /** The same as `name`. */
  readonly sandboxId: string
  readonly commands: Commands
  readonly files: Files
  /** Makes a sandbox; without a name, one is made up. */
  static create(name: string, options?: CreateOptions): Promise<Sandbox>
  static create(options?: CreateOptions): Promise<Sandbox>
  /** One that is there already; throws NotFoundError where there is none of that name. */
  static connect(name: string): Promise<Sandbox>
  static list(): Promise<SandboxInfo[]>
  getInfo(): Promise<SandboxInfo>
  isRunning(): Promise<boolean>
  /** Ends its processes and removes it with its snapshots; false when it was gone already. */
  kill(): Promise<boolean>
  /** Ends its processes; its files stay. */
  stop(): Promise<void>
  createSnapshot(message?: string): Promise<Snapshot>
  listSnapshots(): Promise<Snapshot[]>
  /** Goes back to a snapshot (default: the last one); its name. What is left behind is saved first. */
  rollback(snapshot?: string | Snapshot): Promise<string>
  /** A new sandbox that begins where this one (or a snapshot of it) is. */
  fork(name?: string, options?: { snapshot?: string | Snapshot }): Promise<Sandbox>
  /** What differs from the host as it was, path by path. */
  diff(): Promise<Change[]>
  /** The same as a unified diff that `git apply` takes. */
  patch(): Promise<string>
  /** Applies its changes (or those at `paths` alone: none for an empty array) to the host, all or nothing. */
  promote(paths?: readonly string[], options?: PromoteOptions): Promise<Promotion>
  /** Takes today's host as its base. */
  refresh(): Promise<void>
}

/** Base of all errors: `code` is stable, `message` one sentence, `hint` the way out or null. */
export class SandboxError extends Error {
  readonly code: string
  readonly hint: string | null
}
/** The program is not there, was killed, took too long, or gave no answer that can be read. */
export class ProgramError extends SandboxError {}
/** A name, a flag or a value makes no sense. */
export class UsageError extends SandboxError {}
/** No such sandbox, snapshot or file. */
export class NotFoundError extends SandboxError {}
/** Policy, a gate or a missing layer refuses it. */
export class DeniedError extends SandboxError {}
/** The host moved (`promotion.conflicts`), or the name is taken. */
export class ConflictError extends SandboxError {
  readonly promotion?: Promotion
}
/** A person must agree first (`promotion.consent`). */
export class ConsentError extends SandboxError {
  readonly promotion?: Promotion
}
/** The command ran and did not succeed. */
export class CommandExitError extends SandboxError {
  readonly result: RunResult
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}
/** The command was ended at its time limit. */
export class TimeoutError extends CommandExitError {}
