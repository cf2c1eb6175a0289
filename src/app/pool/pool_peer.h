/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes the daemon serves: of this user, in its namespaces, and confined as itself. Nothing is believed that they say. */
#ifndef APP_POOL_PEER_H
#define APP_POOL_PEER_H

#include "confine/cgroup.h"
#include "confine/rlimit.h"

#include <stdbool.h>
#include <sys/types.h>

#define PEER_GROUPS_MAX 8192

/* The process that connected, as the kernel shows it. */
struct pool_peer {
	int pidfd; /* -1: none */
	pid_t pid;
	struct rlimit_all limits;
	char groups[PEER_GROUPS_MAX]; /* its /proc/PID/cgroup */
};

/*
 * Whether the process that connected FD may be given a sandbox. One that has ended meanwhile, or that may not be looked at,
 * may not.
 */
bool pool_peer_is_equal(int fd, struct pool_peer *ret_peer);

/*
 * Whether PEER's control groups hold a command in GROUP (NULL: in no group of its own), made at PLACES: those are below PEER's,
 * and where GROUP has none the daemon's own group is PEER's.
 */
bool pool_peer_is_held(const struct pool_peer *peer, const struct spec_groups *places,
		       const struct cgroup *group);

void pool_peer_done(struct pool_peer *peer);

#endif
