/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes the daemon serves: of this user, in its namespaces, and no more confined than itself. */
#ifndef ENGINE_POOL_PEER_H
#define ENGINE_POOL_PEER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether the process that connected FD may be given a sandbox; RET_PID is its number. One that has ended meanwhile, or that
 * may not be looked at, may not.
 */
bool pool_peer_is_equal(int fd, pid_t *ret_pid);

/* Whether process PID is in the same control groups as the daemon. */
bool pool_peer_shares_groups(pid_t pid);

#endif
