/* SPDX-License-Identifier: Apache-2.0 */
/* --since: a time ago, or a moment. */
#ifndef OPS_SINCE_H
#define OPS_SINCE_H

#include "base/core/error.h"

#include <stdint.h>

/* "2h", "7d": that long ago; "2026-11-15" or "2026-11-15T08:00:00": then, UTC. NULL: 0. In ms since the epoch. */
int since_read(const char *text, uint64_t *ret_ms, struct error *err);

#endif
