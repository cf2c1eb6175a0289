/* SPDX-License-Identifier: Apache-2.0 */
/* An init that stays and starts the commands it is asked for. Private to launch. */
#ifndef LAUNCH_INIT_SERVER_H
#define LAUNCH_INIT_SERVER_H

#include "launch/setup/start.h"

/*
 * Init's life behind the assembly of its root. HELPER_FD leads to the process that made the network (helper_main),
 * QUOTA_FD to the kernel's quotas (sysctl_apply_last). Returns only when it fails before it could serve.
 */
void init_server_main(const struct start *start, int helper_fd, int quota_fd, struct error *err);

/*
 * In place of the payload, while init assembles the root: makes network and proc, sets quotas, hands all of it and the
 * groups' descriptors to init through RELEASE_FD, and ends.
 */
_Noreturn void helper_main(const struct start *start, int release_fd);

#endif
