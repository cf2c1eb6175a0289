/* SPDX-License-Identifier: Apache-2.0 */
/* One transaction at a time on a target: the lock is the target's own directory, so that nothing is left of it. */
#include "workspace/txn/txn_lock.h"

#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_STEP_NS 20000000l
#define WAIT_STEPS 3000

bool txn_lock_own(int dir_fd)
{
	/* Filesystems without locks are assumed to have no second user. */
	return flock(dir_fd, LOCK_EX | LOCK_NB) == 0 || errno == EOPNOTSUPP || errno == ENOSYS ||
	       errno == EINVAL || errno == ENOLCK;
}

/* Whether PATH still is the directory FD. */
static bool is_still(int fd, const char *path)
{
	struct stat open_one, there;

	return fstat(fd, &open_one) == 0 && stat(path, &there) == 0 &&
	       open_one.st_ino == there.st_ino && open_one.st_dev == there.st_dev;
}

int txn_lock_root(const char *path, int *ret_fd, struct error *err)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_NS };

	for (int i = 0; i < WAIT_STEPS; i++) {
		owned(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST,
					   "target '%s'", path);
		/* The holder may have exchanged the directory itself meanwhile. */
		if (txn_lock_own(fd) && is_still(fd, path)) {
			*ret_fd = fd_take(&fd);
			return 0;
		}
		(void)nanosleep(&step, NULL);
	}
	return error_set(err, ERROR_CONFLICT, "another promotion to '%s' does not end", path);
}
