/* SPDX-License-Identifier: Apache-2.0 */
/* Renaming directories on a plain user's overlay: bringing them wholly into the writable layer first. */
#include "launch/rename/dir_rename.h"

#include "base/file/dir.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES_MAX 200000
#define DEPTH_MAX 128
#define SECONDS_MAX 20
#define XATTR_NAMES_MAX 4096
#define XATTR_VALUE_MAX 65536

/* One way of a move. The way back is not bounded: it has no more to do than was done. */
struct drain {
	bool is_back;
	size_t entries;
	time_t end;
};

/* The last part of a path, without slashes behind it. */
struct place {
	int parent_fd; /* O_PATH */
	char name[NAME_MAX + 1];
};

static time_t now(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec;
}

/* Finds the directory that PATH's last part lies in. Never through /proc's links, which would lead to ours. */
static int find_place(int base_fd, const char *path, struct place *ret_place)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_MAGICLINKS };
	size_t end = strlen(path), start;
	char parent[PATH_MAX];

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	if (end == start || end - start > NAME_MAX || start + 1 >= sizeof(parent))
		return -1;
	(void)snprintf(ret_place->name, sizeof(ret_place->name), "%.*s", (int)(end - start),
		       path + start);
	if (strcmp(ret_place->name, ".") == 0 || strcmp(ret_place->name, "..") == 0)
		return -1;
	(void)snprintf(parent, sizeof(parent), "%.*s", start ? (int)start : 1, start ? path : ".");
	ret_place->parent_fd = (int)syscall(SYS_openat2, base_fd, parent, &how, sizeof(how));
	return ret_place->parent_fd < 0 ? -1 : 0;
}

static int open_directory(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static uint64_t mount_of(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}

static bool is_overlay(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Whether the kernel would let a directory take that place: nothing is there, or an empty directory. */
static bool is_free(const struct place *place)
{
	owned(dir_close) DIR *list = dir_open(place->parent_fd, place->name);
	struct dirent *entry;

	if (!list)
		return errno == ENOENT;
	return dir_next(list, &entry) == 0;
}

static void copy_xattrs(int from_fd, int to_fd)
{
	char names[XATTR_NAMES_MAX];
	ssize_t len = flistxattr(from_fd, names, sizeof(names));
	owned(free_ptr) char *value = len > 0 ? malloc(XATTR_VALUE_MAX) : NULL;

	for (const char *name = names; value && name < names + len; name += strlen(name) + 1) {
		ssize_t size = fgetxattr(from_fd, name, value, XATTR_VALUE_MAX);

		if (size >= 0)
			(void)fsetxattr(to_fd, name, value, (size_t)size, 0);
	}
}

/* What a file keeps by being moved, a directory made anew is given. Times last: the rest changes them. */
static int copy_metadata(const struct stat *st, int from_fd, int to_fd)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	/* A group we are not in cannot be given; the caller's own mv would not keep it either. */
	(void)!fchown(to_fd, (uid_t)-1, st->st_gid);
	copy_xattrs(from_fd, to_fd);
	if (fchmod(to_fd, st->st_mode & 07777) < 0)
		return -1;
	return futimens(to_fd, times);
}

static int drain(struct drain *drain_state, int from_fd, int to_fd, unsigned depth);

/* A directory that cannot be moved as it is: made anew at the other side. */
static int drain_directory(struct drain *state, int from_dir, int to_dir, const char *name,
			   unsigned depth)
{
	struct stat st;

	if (depth == DEPTH_MAX) {
		errno = ELOOP;
		return -1;
	}
	if (mkdirat(to_dir, name, 0700) < 0 && !(errno == EEXIST && state->is_back))
		return -1;
	owned(fd_close) int from_fd = open_directory(from_dir, name);
	owned(fd_close) int to_fd = open_directory(to_dir, name);
	if (from_fd < 0 || to_fd < 0 || fstat(from_fd, &st) < 0)
		return -1;
	/* Directories without write permission are no hindrance to a rename of their parent. */
	if ((st.st_mode & 0300) != 0300 && fchmod(from_fd, (st.st_mode & 07777) | 0300) < 0)
		return -1;
	if (drain(state, from_fd, to_fd, depth + 1) < 0)
		return -1;
	if (!state->is_back && copy_metadata(&st, from_fd, to_fd) < 0)
		return -1;
	return unlinkat(from_dir, name, AT_REMOVEDIR);
}

static int drain_entry(struct drain *state, int from_fd, int to_fd, const char *name,
		       unsigned depth)
{
	if (!state->is_back && (++state->entries > ENTRIES_MAX || now() > state->end)) {
		errno = E2BIG;
		return -1;
	}
	if (renameat2(from_fd, name, to_fd, name, RENAME_NOREPLACE) == 0)
		return 0;
	/* A directory that may not be written cannot get another parent either. */
	if (errno != EXDEV && errno != EACCES && !(errno == EEXIST && state->is_back))
		return -1;
	return drain_directory(state, from_fd, to_fd, name, depth);
}

/* Moves all entries of one directory into another. 0, or -1 with errno where it stopped. */
static int drain(struct drain *state, int from_fd, int to_fd, unsigned depth)
{
	owned(dir_close) DIR *list = dir_open(from_fd, ".");
	struct dirent *entry;
	int status = 0;

	if (!list)
		return -1;
	while (status == 0 && dir_next(list, &entry) > 0) {
		status = drain_entry(state, from_fd, to_fd, entry->d_name, depth);
		/* The way back takes along what it can. */
		if (state->is_back)
			status = 0;
	}
	return status;
}

/*
 * Whether the kernel refuses to rename the directory. Asked with a target that is not empty, so that nothing happens
 * either way: a directory wholly in the writable layer gives ENOTEMPTY.
 */
static bool is_refused(const struct place *place, const char *spare, int spare_fd)
{
	bool is_refused = false;

	if (mkdirat(spare_fd, "x", 0700) < 0)
		return false;
	if (renameat(place->parent_fd, place->name, place->parent_fd, spare) < 0)
		is_refused = errno == EXDEV;
	else /* it was emptied concurrently */
		(void)renameat(place->parent_fd, spare, place->parent_fd, place->name);
	(void)unlinkat(spare_fd, "x", AT_REMOVEDIR);
	return is_refused;
}

static int fill(const struct place *place, const char *spare, int from_fd, int spare_fd)
{
	struct drain forth = { .end = now() + SECONDS_MAX };
	struct drain back = { .is_back = true };
	struct stat st;

	if (fstat(from_fd, &st) < 0)
		return -1;
	if ((st.st_mode & 0300) != 0300 && fchmod(from_fd, (st.st_mode & 07777) | 0300) < 0)
		return -1;
	if (drain(&forth, from_fd, spare_fd, 0) == 0 &&
	    copy_metadata(&st, from_fd, spare_fd) == 0 &&
	    renameat(place->parent_fd, spare, place->parent_fd, place->name) == 0)
		return 0;
	(void)fchmod(spare_fd, 0700);
	(void)drain(&back, spare_fd, from_fd, 0);
	(void)fchmod(from_fd, st.st_mode & 07777);
	return -1;
}

static void make_whole(const struct place *place, int from_fd)
{
	char spare[32];
	uint64_t number = 0;

	(void)!getrandom(&number, sizeof(number), 0);
	(void)snprintf(spare, sizeof(spare), ".aisbx-%016llx", (unsigned long long)number);
	if (mkdirat(place->parent_fd, spare, 0700) < 0)
		return;
	owned(fd_close) int spare_fd = open_directory(place->parent_fd, spare);
	if (spare_fd >= 0 && is_refused(place, spare, spare_fd) &&
	    fill(place, spare, from_fd, spare_fd) == 0)
		return;
	(void)unlinkat(place->parent_fd, spare, AT_REMOVEDIR);
}

bool dir_rename_may_help(const struct dir_rename_request *request)
{
	struct place from = { .parent_fd = -1 };
	struct stat st;

	if (find_place(request->from_fd, request->from, &from) < 0)
		return false;
	owned(fd_close) int parent_fd = from.parent_fd;

	return fstatat(parent_fd, from.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && is_overlay(parent_fd);
}

void dir_rename_make(const struct dir_rename_request *request)
{
	struct place from = { .parent_fd = -1 }, to = { .parent_fd = -1 };

	if (find_place(request->from_fd, request->from, &from) < 0)
		return;
	owned(fd_close) int parent_fd = from.parent_fd;
	if (find_place(request->to_fd, request->to, &to) < 0)
		return;
	owned(fd_close) int to_parent_fd = to.parent_fd;
	owned(fd_close) int from_fd = open_directory(parent_fd, from.name);
	uint64_t mount = from_fd < 0 ? 0 : mount_of(from_fd);

	/* Between mounts no rename works, and a mount point cannot be moved at all. */
	if (!mount || mount != mount_of(parent_fd) || mount != mount_of(to_parent_fd))
		return;
	if (is_overlay(from_fd) && is_free(&to))
		make_whole(&from, from_fd);
}
