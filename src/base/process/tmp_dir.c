/* SPDX-License-Identifier: Apache-2.0 */
/* A directory made and removed by a child that outlives its user. */
#include "base/process/tmp_dir.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/process/process.h"
#include "base/file/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What fails for a moment must not leave the directory behind: no later command looks for it. */
#define REMOVALS 3

struct made {
	int error; /* 0: there is a directory */
	char path[PATH_MAX];
};

static _Noreturn void watch(int fd, const char *parent)
{
	struct made made = { .error = 0 };
	const int keep[] = { fd };
	char byte;

	(void)snprintf(made.path, sizeof(made.path), "%s/aisbx-tmp-XXXXXX", parent);
	if (process_detach(keep, 1, "aisbx-tmp") < 0 || !mkdtemp(made.path))
		made.error = errno;
	if (send(fd, &made, sizeof(made), MSG_NOSIGNAL) == (ssize_t)sizeof(made)) {
		while (read(fd, &byte, 1) < 0 && errno == EINTR)
			;
	}
	for (int i = 0; i < REMOVALS && !made.error; i++)
		if (tree_remove(AT_FDCWD, made.path) == 0)
			break;
	_exit(0);
}

int tmp_dir_open(const char *parent, struct tmp_dir *ret_dir, struct error *err)
{
	struct made made = { .error = ECHILD };
	struct tmp_dir dir = { .fd = -1 };

	dir.watcher = child_fork(CHILD_TALKS, 0, &dir.watch_fd, err);
	if (dir.watcher < 0)
		return -1;
	if (dir.watcher == 0)
		watch(dir.watch_fd, parent);
	ssize_t got;

	do {
		got = recv(dir.watch_fd, &made, sizeof(made), 0);
	} while (got < 0 && errno == EINTR);
	if (!made.error) {
		dir.path = xstrdup(made.path);
		dir.fd = open(made.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (dir.fd < 0) {
		errno = made.error ? made.error : errno;
		(void)error_errno(err, ERROR_HOST, "cannot make a directory below %s", parent);
		tmp_dir_close(&dir);
		return -1;
	}
	*ret_dir = dir;
	return 0;
}

void tmp_dir_close(struct tmp_dir *dir)
{
	int saved = errno;

	if (dir->watcher <= 0)
		return;
	/* Not close() alone: a child that was forked meanwhile may hold a copy. */
	(void)shutdown(dir->watch_fd, SHUT_RDWR);
	fd_close(&dir->watch_fd);
	(void)child_wait(dir->watcher);
	fd_close(&dir->fd);
	free(dir->path);
	*dir = (struct tmp_dir){ 0 };
	errno = saved;
}
