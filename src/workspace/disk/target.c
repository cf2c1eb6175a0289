/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of the host, looked at by descriptors. */
#include "workspace/disk/target.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK_MAX_BYTES 4096

int target_open(const char *path, int *ret_fd, struct error *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", path);
	*ret_fd = fd;
	return 0;
}

int target_parent(int root_fd, const char *relative, int *ret_fd, const char **ret_name)
{
	const char *slash = strrchr(relative, '/');
	int fd;

	if (slash) {
		owned(free_ptr) char *parent = xstrndup(relative, (size_t)(slash - relative));

		fd = sys_open_beneath(root_fd, parent, O_PATH | O_DIRECTORY);
	} else {
		fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	}
	if (fd < 0)
		return -1;
	*ret_fd = fd;
	*ret_name = slash ? slash + 1 : relative;
	return 0;
}

bool target_is_own_name(const char *name)
{
	return strcmp(name, ".aisbx") == 0 || strcmp(name, ".aisbx-txn") == 0;
}

int target_look(int root_fd, const char *relative, struct txn_identity *ret_identity)
{
	owned(fd_close) int fd = -1;
	const char *name;

	*ret_identity = (struct txn_identity){ 0 };
	if (target_parent(root_fd, relative, &fd, &name) < 0)
		return view_is_nothing(errno) ? 0 : -1;
	return txn_identity_of(fd, *name ? name : ".", ret_identity);
}

int target_see(int root_fd, const char *relative, struct txn_identity *ret_identity,
	       struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (target_look(root_fd, relative, ret_identity) == 0)
		return 0;
	return error_errno(err, ERROR_HOST, "cannot look at '%s'", str_shown(relative, shown));
}

int target_open_file(int root_fd, const char *relative, const struct txn_identity *identity)
{
	owned(fd_close) int dir_fd = -1, fd = -1;
	struct txn_identity now;
	const char *name;

	if (target_parent(root_fd, relative, &dir_fd, &name) < 0)
		return -1;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	txn_identity_of(dir_fd, name, &now);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode) || st.st_ino != identity->ino || !target_is_same(&now, identity)) {
		errno = ESTALE;
		return -1;
	}
	return fd_take(&fd);
}

char *target_read_link(int root_fd, const char *relative)
{
	owned(fd_close) int dir_fd = -1;
	char text[LINK_MAX_BYTES + 1];
	const char *name;

	if (target_parent(root_fd, relative, &dir_fd, &name) < 0)
		return NULL;
	ssize_t len = readlinkat(dir_fd, name, text, LINK_MAX_BYTES);

	return len > 0 ? xstrndup(text, (size_t)len) : NULL;
}

bool target_is_same(const struct txn_identity *a, const struct txn_identity *b)
{
	if (!a->exists || !b->exists)
		return a->exists == b->exists;
	return target_is_same_object(a, b) && a->ctime_ns == b->ctime_ns;
}

bool target_is_same_object(const struct txn_identity *before, const struct txn_identity *now)
{
	return before->exists && now->exists && before->ino == now->ino &&
	       before->btime_ns == now->btime_ns && before->size == now->size &&
	       before->mtime_ns == now->mtime_ns && before->mode == now->mode &&
	       before->uid == now->uid && before->gid == now->gid;
}

char target_type(const struct txn_identity *identity)
{
	if (!identity->exists)
		return 0;
	switch (identity->mode & S_IFMT) {
	case S_IFREG:
		return 'f';
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	case S_IFCHR:
		return 'c';
	default:
		return 'b';
	}
}

const char *target_relative(const char *root, const char *path)
{
	size_t len = strlen(root);

	while (len > 0 && root[len - 1] == '/')
		len--;
	if (strncmp(root, path, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}
