/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ready sandboxes: started by one process up to the command, used once by another.
 *
 *   maker                               its children                     user
 *   -----                               ------------                     ----
 *   launch_start (io->waits) ---------> as any start, up to the release
 *   <---- READY ----------------------- init: ends with the holder of its socket
 *   ready_give --- limits ------------> payload
 *   ready_give ---------------------------------------------------------> ready_receive
 *                                       payload <--------------- EXEC --- launch_start (io->prestart)
 *                                       directory, terminal, Landlock, exec; from here on as any start
 *
 * What init and payload have to say to their supervisor waits in the sockets until the user reads it. The holder of the
 * sockets is the supervisor: when it ends, before or behind the hand-over, so does the sandbox.
 */
#ifndef LAUNCH_READY_H
#define LAUNCH_READY_H

#include "confine/rlimit.h"
#include "launch/launch.h"

/*
 * Sends LAUNCH, started of SPEC, by SOCKET_FD. The command gets LIMITS, which the maker has read of the user: that one could
 * claim others. Whatever happens it is not the maker's any more: given, or
 * ended. 0, and then RET_GROUP is its group, for when its user leaves it behind; or -1 with errno.
 */
int ready_give(int socket_fd, struct launch *launch, const struct spec *spec,
	       const struct rlimit_all *limits, struct cgroup *ret_group);

/*
 * Receives one for a start of SPEC, which gets its name and its ids on the host; NULL: that is none. Not taken by a start
 * it is abandoned (launch_abandon).
 */
struct launch_prestart *ready_receive(int socket_fd, struct spec *spec);

#endif
