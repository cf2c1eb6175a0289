/* SPDX-License-Identifier: Apache-2.0 */
/* Starts that were begun before their plan was known. Private to launch; launch_begin is for others. */
#ifndef LAUNCH_PRESTART_H
#define LAUNCH_PRESTART_H

#include "launch/setup/start.h"

struct memory;

struct launch_prestart {
	struct launch
		launch; /* init, and the sockets to it and to the payload; of a ready one all */
	struct spec_ids ids;
	struct memory *memory;
	bool is_ready; /* it was made by another process, and waits for its command (ready.h) */
};

/*
 * Gives what was begun for START its plan, and LAUNCH the processes. False where nothing was begun, or not what START needs;
 * that is gone then.
 */
bool prestart_take(struct launch *launch, const struct start *start);

/* In init and the payload: waits until START is whole. RET_IO (NULL: not asked for) has descriptors of this process. */
int prestart_await(const struct start *start, int socket_fd, struct launch_io *ret_io,
		   struct error *err);

#endif
