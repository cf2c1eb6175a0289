/* SPDX-License-Identifier: Apache-2.0 */
/* A directory that goes with the process that uses it, however that one ends. */
#ifndef BASE_TMP_DIR_H
#define BASE_TMP_DIR_H

#include "base/core/error.h"

#include <sys/types.h>

/* All zeros: there is none. */
struct tmp_dir {
	char *path; /* absolute */
	int fd;	    /* the directory */
	/* A child makes the directory and removes it when this socket ends. */
	int watch_fd;
	pid_t watcher;
};

/* Below PARENT, an absolute path. -1 with an error, and nothing is left. */
int tmp_dir_open(const char *parent, struct tmp_dir *ret_dir, struct error *err);
/* Returns when the directory is gone. */
void tmp_dir_close(struct tmp_dir *dir);

#endif
