// SPDX-License-Identifier: Apache-2.0
'use strict'

// What the program answers, in the names of this language; `raw` always holds the whole object.

/** A path is text; one that is not UTF-8 comes as base64 and keeps its bytes as far as text can. */
function pathOf (item, key = 'path') {
  if (typeof item === 'string') return item
  if (item[key + '_b64']) return Buffer.from(item[key + '_b64'], 'base64').toString()
  return item[key] ?? ''
}

function changesOf (raw) {
  return { added: raw?.added ?? 0, modified: raw?.modified ?? 0, deleted: raw?.deleted ?? 0 }
}

function streamOf (raw, key) {
  return Buffer.from(raw[key] ?? '', raw[key + '_encoding'] === 'base64' ? 'base64' : 'utf8')
}

function runResult (raw) {
  const stdoutData = streamOf(raw, 'stdout')
  const stderrData = streamOf(raw, 'stderr')
  return {
    status: raw.status,
    exitCode: raw.exit_code ?? (raw.status === 'success' ? 0 : 125),
    stdout: stdoutData.toString(),
    stderr: stderrData.toString(),
    stdoutData,
    stderrData,
    truncated: raw.truncated === true,
    signal: raw.signal ?? null,
    runId: raw.run_id ?? null,
    sandbox: raw.sandbox ?? null,
    command: raw.command ?? [],
    durationMs: raw.duration_ms ?? 0,
    cpuMs: raw.cpu_ms ?? 0,
    peakMemoryBytes: raw.peak_memory_bytes ?? null,
    limitsHit: raw.limits_hit ?? [],
    degraded: raw.degraded ?? [],
    denials: (raw.denials ?? []).map(({ layer, what, rule, hint, count }) =>
      ({ layer, what, rule: rule ?? null, hint: hint ?? null, count: count ?? 1 })),
    changes: changesOf(raw.changes),
    error: raw.message ?? null,
    raw
  }
}

function sandboxInfo (raw) {
  return {
    name: raw.name,
    base: raw.base ?? null,
    state: raw.state,
    created: raw.created ?? null,
    expires: raw.expires ?? null,
    snapshots: raw.snapshots ?? 0,
    changes: changesOf(raw.changes),
    diskBytes: raw.disk_bytes ?? 0,
    raw
  }
}

function snapshot (raw) {
  return {
    name: raw.name,
    parent: raw.parent ?? null,
    message: raw.message ?? null,
    made: raw.made ?? null,
    auto: raw.auto === true,
    current: raw.current === true
  }
}

function change (raw) {
  return { op: raw.op, path: pathOf(raw), type: raw.type, oldPath: pathOf(raw, 'from') || null, raw }
}

function promotion (raw) {
  const paths = (key) => (raw[key] ?? []).map((item) => pathOf(item))
  return {
    promotionId: raw.promotion_id ?? null,
    applied: paths('applied'),
    merged: paths('merged'),
    skipped: paths('skipped'),
    conflicts: raw.conflicts ?? [],
    consent: raw.consent ?? [],
    dryRun: raw.dry_run === true,
    raw
  }
}

module.exports = { change, promotion, runResult, sandboxInfo, snapshot }
