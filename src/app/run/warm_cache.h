/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warm caches of runs: what tools fetched and built in sandboxes of a workspace lies below the next one's own writes.
 *
 *   the run's writes  >  caches of its tools  >  what is hidden  >  the host's files
 *
 * Each tool's cache is a layer of its own (workspace/store/cache.h), shared by runs with the same workspace, profile and
 * network rules. A run that ended well replaces it, unless it had a secret. Named sandboxes are folded when all their
 * changes are promoted, and then once more into caches that only such sandboxes feed: those are what checks, gates and
 * stages see.
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

/* From here on the plan has only the caches that promoted sandboxes fed. */
void warm_cache_only_promoted(struct spec *spec);

/* Lays the caches below the layers of a named sandbox, whose directory notes them. The store is held. */
int warm_cache_lay(const struct store *store, int sandbox_fd, struct spec *spec, struct error *err);

/* A command with a secret of its own ran in the sandbox: nothing of it is ever kept. */
void warm_cache_spoil(int sandbox_fd);
bool warm_cache_is_spoiled(int sandbox_fd);

/* A promoted sandbox: its top and layers, newest first, of which the first may change yet. */
void warm_cache_fold_promoted(const struct store *store, const struct spec *spec,
			      const int *layer_fds, size_t count);

#endif
