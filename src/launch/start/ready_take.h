/* SPDX-License-Identifier: Apache-2.0 */
/* A ready sandbox and its command: the halves of launch/ready.h that only a start needs. */
#ifndef LAUNCH_READY_TAKE_H
#define LAUNCH_READY_TAKE_H

#include "launch/launch.h"

/* Gives the ready sandbox in IO its command. False where there is none, or it is gone: a start then does it all. */
bool ready_take(const struct spec *spec, const struct launch_io *io, struct launch *ret_launch);

struct ready_command {
	const char *directory;
	struct strv words, env;
};

/* In the payload: waits for the command, and takes the caller's limits. RET_IO gets descriptors and terminal. */
int ready_await(int socket_fd, struct launch_io *ret_io, struct ready_command *ret_command,
		struct error *err);

#endif
