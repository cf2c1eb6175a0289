/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renames that have to be prepared inside (dir_rename.h): one process each, started by init when the supervisor asks.
 *
 * Init itself only looks: a process of its own moves, which may be slow or be killed and delays only the process that
 * asked. Its end is the answer, whatever came of it.
 */
#ifndef LAUNCH_DIR_RENAME_PROCESS_H
#define LAUNCH_DIR_RENAME_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct dir_rename_process {
	int control_fd; /* to the supervisor; borrowed */
	pid_t pid;	/* 0: none */
	uint64_t id;	/* of the rename under way */
};

/* Takes the next message; ends this process when the supervisor is gone. */
void dir_rename_process_start(struct dir_rename_process *dir_rename_process);

/* The renaming process has ended: informs the supervisor. */
void dir_rename_process_report(struct dir_rename_process *dir_rename_process);

#endif
