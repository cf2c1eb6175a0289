/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `gc`'s answer. */
#ifndef APP_GC_ROWS_H
#define APP_GC_ROWS_H

#include "base/core/value.h"

void gc_add_row(struct value *answer, const char *kind, const char *path, const char *detail);

/* A row for each of REMOVED. */
void gc_add_removed(const struct strv *removed, const char *kind, const char *detail,
		    struct value *answer);

#endif
