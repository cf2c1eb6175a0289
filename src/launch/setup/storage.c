/* SPDX-License-Identifier: Apache-2.0 */
/* Writable layers on disk: made, removed, and swept when no process holds them any more. */
#include "launch/setup/storage.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/file/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define MARK "user.overlay.opaque"

/* A memory file lives on a tmpfs of the kernel's own, which has the same attributes as any other. */
bool storage_fits_tmpfs(void)
{
	owned(fd_close) int fd = memfd_create("aisbx", MFD_CLOEXEC);

	return fd < 0 || fsetxattr(fd, MARK, "y", 1, 0) == 0 || errno != EOPNOTSUPP;
}

int storage_open(const char *path, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return error_errno(err, ERROR_HOST, "cannot hold '%s'", path);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Under a lock on PARENT: a sweep must not take a directory that is made, but not held yet, for a dead run's. */
static int make_held(const char *parent, const char *path, int *ret_fd, struct error *err)
{
	owned(fd_close) int parent_fd = -1;

	if (mkdir(parent, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make '%s'", parent);
	parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (parent_fd < 0 || flock(parent_fd, LOCK_SH) < 0)
		return error_errno(err, ERROR_HOST, "cannot hold '%s'", parent);
	if (mkdir(path, 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make '%s'", path);
	return storage_open(path, ret_fd, err);
}

int storage_make(const struct spec *spec, char **ret_path, int *ret_fd, struct error *err)
{
	owned(free_ptr) char *parent = NULL, *path = NULL;
	owned(fd_close) int fd = -1;

	*ret_path = NULL;
	*ret_fd = -1;
	/* With root's ids mapped away, init could not even reach a directory of root's. */
	if (root_is_idmapped(spec->root) || spec->ids.count > 1 || storage_fits_tmpfs())
		return 0;
	parent = xasprintf("%s/layers", spec->state_dir);
	path = xasprintf("%s/%s", parent, spec->run_id);
	if (make_held(parent, path, &fd, err) < 0)
		return -1;
	if (fsetxattr(fd, MARK ".probe", "y", 1, 0) < 0) {
		/* Neither has them: the tmpfs has at least a size. */
		(void)rmdir(path);
		return 0;
	}
	*ret_path = ptr_take(&path);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Locks NAME when it is not held. The lock on the directory above is not kept: removing can take its time. */
static int claim(int parent_fd, const char *name)
{
	owned(fd_close) int fd = -1;

	if (flock(parent_fd, LOCK_EX) < 0)
		return -1;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		fd_close(&fd);
	(void)flock(parent_fd, LOCK_UN);
	return fd_take(&fd);
}

/* REMOVED, when not NULL, gets their paths. */
static void sweep(const char *parent, struct strv *removed)
{
	owned(dir_close) DIR *dir = opendir(parent);
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		owned(fd_close) int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = claim(dirfd(dir), entry->d_name);
		if (fd >= 0 && tree_remove(dirfd(dir), entry->d_name) == 0 && removed)
			strv_addf(removed, "%s/%s", parent, entry->d_name);
	}
}

void storage_remove(const char *path)
{
	owned(free_ptr) char *parent =
		path ? xstrndup(path, (size_t)(strrchr(path, '/') - path)) : NULL;

	if (!path)
		return;
	(void)tree_remove(AT_FDCWD, path);
	sweep(parent, NULL);
}

void storage_sweep(const char *state_dir, struct strv *removed)
{
	owned(free_ptr) char *parent = xasprintf("%s/layers", state_dir);

	sweep(parent, removed);
}
