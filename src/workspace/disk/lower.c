/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of a layer, reached by descriptors alone.
 *
 * A path would be looked up anew each time, through links that lie in the host's tree: to anywhere in it, in circles,
 * or to a server that does not answer. An overlay follows no link and crosses no mount below its lower directory
 * either, so what cannot be reached here was not to be seen in the sandbox.
 */
#include "workspace/disk/lower.h"

#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_strictly(int dir_fd, const char *name, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
}

int lower_open_root(const char *path)
{
	return open_strictly(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
}

int lower_open(int dir_fd, const char *name, struct stat *ret_st)
{
	/* Without O_DIRECTORY: asking for a directory is what makes older kernels wait for an automounter. */
	owned(fd_close) int fd =
		dir_fd < 0 ? -1
			   : open_strictly(dir_fd, name, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_XDEV);

	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -1;
	return fd_take(&fd);
}

int lower_open_directory(int dir_fd, const char *name)
{
	struct stat st;
	owned(fd_close) int fd = lower_open(dir_fd, name, &st);

	if (fd >= 0 && S_ISDIR(st.st_mode))
		return fd_take(&fd);
	if (fd >= 0)
		errno = ENOTDIR;
	return -1;
}

int lower_open_path(int root_fd, const char *path)
{
	owned(fd_close) int fd = lower_open_directory(root_fd, ".");

	while (fd >= 0 && *path) {
		size_t len = strcspn(path, "/");
		char name[NAME_MAX + 1];

		if (len > NAME_MAX)
			return -1;
		memcpy(name, path, len);
		name[len] = '\0';
		int next = len > 0 ? lower_open_directory(fd, name) : fd_take(&fd);

		fd_close(&fd);
		fd = next;
		path += len;
		path += *path == '/';
	}
	return fd_take(&fd);
}

int lower_open_file(int dir_fd, const char *name, const struct stat *st)
{
	owned(fd_close) int fd = open_strictly(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY,
					       RESOLVE_BENEATH | RESOLVE_NO_XDEV);
	struct stat now;

	if (fd < 0 || fstat(fd, &now) < 0 || !S_ISREG(now.st_mode) || now.st_dev != st->st_dev ||
	    now.st_ino != st->st_ino)
		return -1;
	return fd_take(&fd);
}
