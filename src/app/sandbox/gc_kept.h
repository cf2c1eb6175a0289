/* SPDX-License-Identifier: Apache-2.0 */
/* Housekeeping of what is kept on purpose: sandboxes, layers, contents, promotions, history. Only in aisbx-full. */
#ifndef APP_GC_KEPT_H
#define APP_GC_KEPT_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "history/history.h"

/*
 * Removes expired sandboxes, unreferenced layers and contents, promotions beyond their bounds, the trash, and history
 * beyond BOUNDS, with CACHES all warm caches; appends {kind, path, detail} for each to ANSWER.
 */
int app_gc_kept(const struct history_bounds *bounds, bool caches, struct value *answer,
		struct error *err);

/* The last of these alone; with is_dry it removes nothing and appends what would go. */
int app_gc_history(const struct history_bounds *bounds, struct value *answer, struct error *err);

#endif
