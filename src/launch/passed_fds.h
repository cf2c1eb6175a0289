/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and pipes handed to the command as descriptors, beyond its streams: for a program of ours that runs inside with
 * what the sandbox itself does not show.
 *
 * A file is opened through a clone of its mount that is read-only and attached nowhere: reopening the descriptor by /proc,
 * or changing the file's mode by it, is refused by the mount, whatever the user.
 */
#ifndef LAUNCH_PASSED_FDS_H
#define LAUNCH_PASSED_FDS_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASSED_FDS_MAX 8

/* Gives the command the numbers of its descriptors, in the order given: "5,9,10". */
#define PASSED_FDS_VARIABLE "AISBX_HANDS"

struct passed_fd {
	const char *path;  /* a file to open, resolved; NULL: */
	int fd;		   /* handed over as it is; borrowed */
	uint64_t dev, ino; /* what PATH must be; 0: any file */
};

struct passed_fds {
	/* The first one is executed, in place of the command's first word. */
	struct passed_fd items[PASSED_FDS_MAX];
	size_t count;
	bool locks_itself; /* it puts Landlock around its children, each with files of its own; it has none */
};

/*
 * Opens every file that is still a path, where the host's mounts are: in the supervisor of a caller that may clone mounts,
 * else in the payload before the new root stands. PROC_FD: an instance of proc, or -1 for /proc.
 */
int passed_fds_open(struct passed_fds *passed_fds, int proc_fd, struct error *err);

/* Lets go of what passed_fds_open opened. */
void passed_fds_close(struct passed_fds *passed_fds);

/* Lets them pass an exec. 0, or -1 with errno. */
int passed_fds_keep(const struct passed_fds *passed_fds);

/* Executes the first one; returns only on failure. */
void passed_fds_exec(const struct passed_fds *passed_fds, const struct strv *command,
		     const struct strv *env, struct error *err);

#endif
