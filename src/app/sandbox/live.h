/* SPDX-License-Identifier: Apache-2.0 */
/* What runs right now, and what it uses. Only in the program with libraries. */
#ifndef APP_LIVE_H
#define APP_LIVE_H

#include "base/core/error.h"
#include "base/core/value.h"

/*
 * One object per run of this user that has lived for a tenth of a second: {run_id, sandbox, command, started, cpu_percent,
 * cpu_ms, memory_bytes, memory_percent, pids, disk_bytes, disk_percent, read_bytes, write_bytes, warnings}. BEFORE is an
 * earlier answer, for the share of a processor used since; NULL: since the beginning. The caller owns *ret_list.
 */
int app_live(const struct value *before, struct value **ret_list, struct error *err);

#endif
