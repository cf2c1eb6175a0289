/* SPDX-License-Identifier: Apache-2.0 */
/* Files handed to the command on read-only clones of their mounts. */
#include "launch/passed_fds.h"

#include "base/core/own.h"
#include "confine/root/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 48

/* What was looked at before it was trusted must be what is handed over: a name can be given to another file in between. */
static int check_identity(const struct passed_fd *hand, int fd, struct error *err)
{
	struct stat st;

	if (hand->ino == 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", hand->path);
	if (st.st_dev != hand->dev || st.st_ino != hand->ino)
		return error_advise(err, ERROR_HOST, "run it again",
				    "%s was replaced while it was about to be used", hand->path);
	return 0;
}

static int open_readonly(const struct passed_fd *hand, int proc_fd, int *ret_fd, struct error *err)
{
	const char *path = hand->path;
	owned(fd_close) int mount_fd = -1;
	owned(fd_close) int fd = -1;
	char again[PATH_SIZE];

	if (mount_clone(AT_FDCWD, path, &mount_fd, err) < 0 ||
	    mount_attributes(mount_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			     err) < 0)
		return error_context(err, "%s", path);
	(void)snprintf(again, sizeof(again), "%sself/fd/%d", proc_fd < 0 ? "/proc/" : "", mount_fd);
	fd = openat(proc_fd < 0 ? AT_FDCWD : proc_fd, again, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (check_identity(hand, fd, err) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int passed_fds_open(struct passed_fds *passed_fds, int proc_fd, struct error *err)
{
	for (size_t i = 0; i < passed_fds->count; i++) {
		struct passed_fd *hand = &passed_fds->items[i];

		if (hand->path && hand->fd < 0 && open_readonly(hand, proc_fd, &hand->fd, err) < 0)
			return -1;
	}
	return 0;
}

void passed_fds_close(struct passed_fds *passed_fds)
{
	for (size_t i = 0; i < passed_fds->count; i++) {
		if (passed_fds->items[i].path)
			fd_close(&passed_fds->items[i].fd);
	}
}

int passed_fds_keep(const struct passed_fds *passed_fds)
{
	for (size_t i = 0; i < passed_fds->count; i++) {
		if (fcntl(passed_fds->items[i].fd, F_SETFD, 0) < 0)
			return -1;
	}
	return 0;
}

void passed_fds_exec(const struct passed_fds *passed_fds, const struct strv *command,
		     const struct strv *env, struct error *err)
{
	owned(strv_done) struct strv variables = STRV_INIT;
	owned(str_done) struct str numbers = STR_INIT;
	char path[PATH_SIZE];

	for (size_t i = 0; i < passed_fds->count; i++)
		str_addf(&numbers, "%s%d", i ? "," : PASSED_FDS_VARIABLE "=",
			 passed_fds->items[i].fd);
	strv_copy(&variables, env);
	strv_add(&variables, str_cstr(&numbers));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", passed_fds->items[0].fd);
	execve(path, command->items, variables.items);
	error_errno(err, ERROR_HOST, "cannot execute %s", passed_fds->items[0].path);
}
