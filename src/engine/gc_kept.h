/* Housekeeping of what is kept on purpose: sandboxes, layers, contents, promotions, history. Only in aisbx-more. */
#ifndef ENGINE_GC_KEPT_H
#define ENGINE_GC_KEPT_H

#include "base/error.h"
#include "base/value.h"
#include "history/history.h"

/*
 * Removes expired sandboxes, layers and contents nobody refers to, promotions beyond their bounds, what promotions of
 * stores that are gone keep, the trash, and history beyond BOUNDS; appends {kind, path, detail} for each to ANSWER. What
 * was left, and why, goes to NOTES.
 */
int engine_gc_kept(const struct history_bounds *bounds, struct value *answer, struct strv *notes,
		   struct error *err);

#endif
