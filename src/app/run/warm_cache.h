/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warm caches of runs: what tools fetched and built in sandboxes of a workspace lies below the next one's own writes.
 *
 *   the run's writes  >  caches of its tools  >  what is hidden  >  the host's files
 *
 * Each tool's cache is a layer of its own (workspace/store/cache.h), shared by runs with the same workspace, profile and
 * network rules. A run that ended well replaces it, unless it had a secret. Named sandboxes, and with them attempts,
 * checks, gates and stages, have none: they outlive the layer that a cache is today.
 */
#ifndef APP_WARM_CACHE_H
#define APP_WARM_CACHE_H

#include "observe/result.h"
#include "spec/spec.h"
#include "workspace/store/cache.h"

/* A run's caches; empty where the plan has none. */
struct warm_cache {
	struct store store; /* not locked while the command runs */
	bool has_store;
	struct strv names; /* caches the run could fold */
	struct strv bases; /* the layer of each when the run began; "" for none */
	struct strv tools;
	int *lock_fds; /* on the layers */
	size_t lock_count;
	int top_fd;
};

/* Lays the caches and a writable top of its own into a plan that has caches. */
int warm_cache_begin(struct spec *spec, struct warm_cache *ret_cache, struct error *err);

/* Keeps what the run left, if it may, and removes its top. What cannot be kept is a note of the result. */
void warm_cache_end(const struct spec *spec, struct warm_cache *cache, struct run_result *result);

#endif
