/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts, as far as a transaction must distinguish them. */
#include "workspace/txn/txn_mount.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int mount_of(int dir_fd, const char *name, uint64_t *ret_mount)
{
	int flags = AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);
	struct statx st;

	if (statx(dir_fd, name, flags, STATX_MNT_ID, &st) < 0)
		return -1;
	*ret_mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id
						: makedev(st.stx_dev_major, st.stx_dev_minor);
	return 0;
}

char *mount_root_of(const char *path)
{
	owned(free_ptr) char *at = xstrdup(path);
	uint64_t mount, above;

	if (mount_of(AT_FDCWD, at, &mount) < 0)
		return NULL;
	for (char *slash; (slash = strrchr(at, '/')) && slash != at;) {
		*slash = '\0';
		if (mount_of(AT_FDCWD, at, &above) < 0)
			return NULL;
		if (above == mount)
			continue;
		*slash = '/';
		return ptr_take(&at);
	}
	if (mount_of(AT_FDCWD, "/", &above) < 0)
		return NULL;
	return above == mount ? xstrdup("/") : ptr_take(&at);
}

char *mount_path_of(int fd)
{
	char link[32], path[PATH_MAX];
	struct stat here, there;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);

	if (len < 0)
		return NULL;
	path[len] = '\0';
	if (fstat(fd, &here) < 0 || lstat(path, &there) < 0)
		return NULL;
	/* A removed directory has a path that is not one. */
	if (path[0] == '/' && here.st_ino == there.st_ino && here.st_dev == there.st_dev)
		return xstrdup(path);
	errno = ENOENT;
	return NULL;
}
