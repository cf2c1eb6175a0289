/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sandbox is as full of processes as it may be. Private to launch. */
#ifndef LAUNCH_PIDS_LIMIT_H
#define LAUNCH_PIDS_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the limit on processes was reached just now, with the command that has ended. Without a cgroup the supervisor
 * looks only now and then, and a command that ran into the limit often ends by it. A sandbox that never had so many is not
 * looked at. PIDS: the limit, 0 for none.
 */
bool pids_limit_is_hit(uint64_t pids);

#endif
