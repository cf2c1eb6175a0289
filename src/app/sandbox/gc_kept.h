/* SPDX-License-Identifier: Apache-2.0 */
/* Housekeeping of what is kept on purpose: sandboxes, layers, contents, promotions. Only in aisbx-full. */
#ifndef APP_GC_KEPT_H
#define APP_GC_KEPT_H

#include "base/core/error.h"
#include "base/core/value.h"

/*
 * Removes expired sandboxes, unreferenced layers and contents, promotions beyond their bounds, the trash, with CACHES all warm
 * caches; appends {kind, path, detail} for each to ANSWER.
 */
int app_gc_kept(bool caches, struct value *answer, struct error *err);

#endif
