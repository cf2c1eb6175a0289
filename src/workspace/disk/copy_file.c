/* SPDX-License-Identifier: Apache-2.0 */
/* Contents and attributes of single files, by descriptor. */
#include "workspace/disk/copy_file.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CHUNK (1u << 20)
#define XATTR_MAX 65536u

/* By way of memory: between some filesystems nothing else works. */
static int copy_plain(int from, int to, off_t at, off_t end)
{
	owned(free_ptr) char *buffer = xmalloc(CHUNK);

	while (at < end) {
		size_t want = end - at < (off_t)CHUNK ? (size_t)(end - at) : CHUNK;
		ssize_t got = pread(from, buffer, want, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return (int)got;
		for (ssize_t done = 0, put; done < got; done += put) {
			put = pwrite(to, buffer + done, (size_t)(got - done), at + done);
			if (put < 0 && errno == EINTR)
				put = 0;
			else if (put < 0)
				return -1;
		}
		at += got;
	}
	return 0;
}

static int copy_range(int from, int to, off_t at, off_t end)
{
	off_t to_at = at;

	while (at < end) {
		ssize_t got = copy_file_range(from, &at, to, &to_at, (size_t)(end - at), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			return 0;
		if (got < 0)
			return copy_plain(from, to, at, end);
	}
	return 0;
}

int copy_content(int from, int to)
{
	struct stat st;
	off_t at = 0;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return -1;
	while (at < st.st_size) {
		off_t start = lseek(from, at, SEEK_DATA);

		if (start < 0 && errno == ENXIO)
			return 0;
		if (start < 0)
			return copy_range(from, to, at, st.st_size);
		at = lseek(from, start, SEEK_HOLE);
		if (at < 0 || copy_range(from, to, start, at) < 0)
			return -1;
	}
	return 0;
}

static bool is_listed(const char *const *list, const char *name)
{
	for (; list && *list; list++) {
		if (strcmp(*list, name) == 0)
			return true;
	}
	return false;
}

/* A plain user may not write all of them; nor may any caller write a security module's label. */
static bool may_fail(const char *name)
{
	return strcmp(name, "security.selinux") == 0 ||
	       (geteuid() != 0 && (str_starts(name, "security.") || str_starts(name, "trusted.")));
}

static int copy_xattr(const char *from, const char *to, const char *name, char *value)
{
	ssize_t len = getxattr(from, name, value, XATTR_MAX);

	if (len < 0)
		return errno == ENODATA || may_fail(name) ? 0 : -1;
	return setxattr(to, name, value, (size_t)len, 0) == 0 || may_fail(name) ? 0 : -1;
}

static int copy_xattrs(const char *from, const char *to, const char *const *skip)
{
	char names[4096];
	owned(free_ptr) char *more = NULL, *value = NULL;
	char *list = names;
	ssize_t len = listxattr(from, names, sizeof(names));

	if (len < 0 && errno == ERANGE) {
		more = xmalloc(XATTR_MAX);
		list = more;
		len = listxattr(from, list, XATTR_MAX);
	}
	if (len <= 0)
		return len == 0 || errno == ENOTSUP ? 0 : -1;
	value = xmalloc(XATTR_MAX);
	for (const char *name = list; name < list + len; name += strlen(name) + 1) {
		if (!is_listed(skip, name) && copy_xattr(from, to, name, value) < 0)
			return -1;
	}
	return 0;
}

int copy_attributes(int from, const struct stat *st, int to, const char *const *skip)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char from_path[32], to_path[32];
	struct stat now;

	/* Links of the kernel's own: they lead to the very object, also where it is a symbolic link. */
	(void)snprintf(from_path, sizeof(from_path), "/proc/self/fd/%d", from);
	(void)snprintf(to_path, sizeof(to_path), "/proc/self/fd/%d", to);
	if (fstat(to, &now) < 0)
		return -1;
	if ((now.st_uid != st->st_uid || now.st_gid != st->st_gid) &&
	    fchownat(to, "", st->st_uid, st->st_gid, AT_EMPTY_PATH) < 0)
		return -1;
	if (copy_xattrs(from_path, to_path, skip) < 0)
		return -1;
	if (!S_ISLNK(st->st_mode) && chmod(to_path, st->st_mode & 07777) < 0)
		return -1;
	return utimensat(AT_FDCWD, to_path, times, 0);
}
