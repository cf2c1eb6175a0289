/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renames that have to be prepared inside (whole.h): one process each, started by init when the supervisor asks.
 *
 * Init itself only looks: a process of its own moves, which may be slow or be killed and delays only the process that
 * asked. Its end is the answer, whatever came of it.
 */
#ifndef LAUNCH_MOVER_H
#define LAUNCH_MOVER_H

#include <stdint.h>
#include <sys/types.h>

struct mover {
	int control_fd; /* to the supervisor; borrowed */
	pid_t pid;	/* 0: none */
	uint64_t id;	/* of the rename under way */
};

/* Takes the next message; ends this process when the supervisor is gone. */
void mover_start(struct mover *mover);

/* The mover has ended: informs the supervisor. */
void mover_report(struct mover *mover);

#endif
