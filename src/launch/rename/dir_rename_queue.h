/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renames of a plain user's sandbox, of which the supervisor is notified before they happen.
 *
 * Files and everything else that the kernel renames by itself go on at once. For a directory init is asked to prepare
 * it (launch/rename/dir_rename.h), one after the other; then its rename goes on too. What is looked up here is a hint and never
 * decides what is permitted: the call that goes on is the caller's own.
 */
#ifndef LAUNCH_DIR_RENAME_QUEUE_H
#define LAUNCH_DIR_RENAME_QUEUE_H

#include "confine/notify.h"
#include "launch/launch.h"

#include <stddef.h>

#define MOVES_MAX 32 /* more at a time are left to the kernel */

struct dir_rename_entry {
	uint64_t id;
	int fds[2];
	char *paths[2];
};

/* Zeroed: none. The first one is with init. */
struct dir_rename_queue {
	struct dir_rename_entry items[MOVES_MAX];
	size_t count;
};

/* Answers the rename, or keeps it until init has prepared it. Never blocks. */
void dir_rename_queue_take(struct dir_rename_queue *renames, int listener_fd,
			   const struct notify_event *event, struct launch *launch);

/* Init is done with ID: lets it go on and hands over the next one. */
void dir_rename_queue_done(struct dir_rename_queue *renames, int listener_fd, uint64_t id,
			   struct launch *launch);

void dir_rename_queue_free(struct dir_rename_queue *renames);

#endif
