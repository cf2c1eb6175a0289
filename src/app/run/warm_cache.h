/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warm caches: what tools fetched and built in sandboxes of a workspace lies below the next one's own writes.
 *
 *   the sandbox's writes  >  caches of its tools  >  what is hidden  >  the host's files
 *
 * Each tool's cache is a layer of its own (workspace/store/cache.h), shared by sandboxes with the same workspace, profile
 * and network rules. There are two of each. One is of runs: it is replaced by what a run left that ended well. The other is
 * of named sandboxes, and with them of attempts, checks, gates and stages: it is replaced by what a sandbox holds whose
 * changes are promoted, so that nothing decides on, or is made from, what no person took over. Runs begin with the second
 * where they have none of their own. A sandbox that was given a secret, copies of services, or other network rules than it
 * was first started with, replaces neither: what was fetched under wider rules is never met under narrower ones.
 *
 *   sbx/NAME/caches  which layers were laid at its last start, each with the cache it replaces; they stay while this names them
 *   sbx/NAME/secret  a command in it had a secret that was not the sandbox's own, or ran under other network rules
 */
#ifndef APP_WARM_CACHE_H
#define APP_WARM_CACHE_H

#include "observe/result.h"
#include "spec/spec.h"
#include "workspace/store/cache.h"
#include "workspace/store/sandbox.h"
#include "workspace/view/view.h"

/* A run's caches; empty where the plan has none. */
struct warm_cache {
	struct store store; /* not locked while the command runs */
	bool has_store;
	struct strv names; /* caches the run could fold */
	struct strv bases; /* the layer of each when the run began; "" for none */
	struct strv laid;  /* what it stands on: that, or the one of promoted sandboxes */
	struct strv tools;
	int *lock_fds; /* on the layers */
	size_t lock_count;
	int top_fd;
};

/* Lays the caches and a writable top of its own into a plan that has caches. */
int warm_cache_begin(struct spec *spec, struct warm_cache *ret_cache, struct error *err);

/* Keeps what the run left, if it may, and removes its top. What cannot be kept is a note of the result. */
void warm_cache_end(const struct spec *spec, struct warm_cache *cache, struct run_result *result);

/*
 * Lays the caches of promoted sandboxes below the layers of SANDBOX. Its lock is held. IS_NEW: no command ran in it yet, nor
 * in one that it was forked from.
 */
int warm_cache_lay(const struct sandbox *sandbox, bool is_new, struct spec *spec,
		   struct error *err);

/* A fork begins with what the sandbox in FROM_FD wrote, under the rules of that one's last start. */
int warm_cache_fork(int from_fd, int dir_fd, struct error *err);

/*
 * What a command with a secret of its own, or one under other network rules, leaves in the sandbox and in those that are
 * forked from it is no cache.
 */
int warm_cache_taint(int dir_fd, struct error *err);
void warm_cache_untaint(int dir_fd);
bool warm_cache_is_tainted(int dir_fd);

/*
 * All changes in STACK were promoted: keeps what its tools left. SPEC is a plan of the sandbox as it is now; IS_LIVE: the
 * first of the stack's layers is its top. Nothing writes to it meanwhile.
 */
void warm_cache_promoted(const struct sandbox *sandbox, const struct spec *spec,
			 const struct view_stack *stack, bool is_live);

#endif
