/* SPDX-License-Identifier: Apache-2.0 */
/* Which directories of tools are kept as warm caches, and which runs share them. */
#ifndef PLAN_CACHE_H
#define PLAN_CACHE_H

#include "spec/spec.h"

/* A directory in which a tool keeps what it fetched or built; several rows may be of one tool. From home_tools.tsv. */
struct plan_cache {
	const char *tool; /* one word */
	const char *name; /* below HOME; behind "./" below the workspace */
};

/* Ended by a row without a tool. */
extern const struct plan_cache plan_caches[];

/* The absolute path of such a directory in a sandbox with this plan. The caller frees it. */
char *plan_cache_path(const struct spec *spec, const struct plan_cache *cache);

/* Whether the row is of the workspace. */
bool plan_cache_is_inside(const struct plan_cache *cache);

#endif
