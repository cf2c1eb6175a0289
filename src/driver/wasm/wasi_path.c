/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WASI preview 1 of our own: what is done with a path.
 *
 * A path is resolved by the kernel, which is asked to stay beneath the directory it starts at and to follow no magic
 * links. Where the last part itself is made, removed or renamed, the directory it is in is resolved that way, and the part
 * must be a plain name.
 */
#include "driver/wasm/wasi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLLOW 1u
/* How often a lookup is repeated while the path is being moved. */
#define ATTEMPTS_MAX 64

enum { OPEN_CREATE = 1, OPEN_DIRECTORY = 2, OPEN_EXCLUSIVE = 4, OPEN_TRUNCATE = 8 };
#define RIGHT_READ ((uint64_t)1 << 1)
#define RIGHT_WRITE ((uint64_t)1 << 6)

struct path {
	char text[PATH_MAX];
};

/* A place: the directory it is in (to be closed), and its name there. */
struct spot {
	int dir_fd;
	struct path path;
	const char *name;
	bool has_slash; /* behind the name: only a directory is meant */
};

static uint32_t take_path(const struct wasi_call *call, size_t slot, struct path *ret_path)
{
	uint32_t len = wasi_word(call, slot + 1);
	const uint8_t *bytes = wasi_bytes(call, wasi_word(call, slot), len);

	if (!bytes)
		return WASI_FAULT;
	if (len >= sizeof(ret_path->text))
		return WASI_NAMETOOLONG;
	if (memchr(bytes, '\0', len))
		return WASI_INVAL;
	memcpy(ret_path->text, bytes, len);
	ret_path->text[len] = '\0';
	return WASI_SUCCESS;
}

static int open_beneath(int dir_fd, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
				.mode = flags & O_CREAT ? 0666 : 0,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	int fd, attempts = 0;

	do
		fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN) && ++attempts < ATTEMPTS_MAX);
	return fd;
}

static void leave(struct spot *spot)
{
	if (spot->dir_fd >= 0)
		(void)close(spot->dir_fd);
}

/* The path at SLOT below the descriptor at FD_SLOT, as directory and name. */
static uint32_t find(const struct wasi_call *call, size_t fd_slot, size_t slot,
		     struct spot *ret_spot)
{
	char *text = ret_spot->path.text, *slash;
	uint32_t status = take_path(call, slot, &ret_spot->path);
	size_t len = status ? 0 : strlen(text);

	ret_spot->dir_fd = -1;
	if (status)
		return status;
	ret_spot->has_slash = len > 1 && text[len - 1] == '/';
	while (len > 1 && text[len - 1] == '/')
		text[--len] = '\0';
	slash = strrchr(text, '/');
	ret_spot->name = slash ? slash + 1 : text;
	if (!ret_spot->name[0])
		return slash ? WASI_NOTCAPABLE : WASI_NOENT;
	if (strcmp(ret_spot->name, ".") == 0)
		return WASI_INVAL;
	if (strcmp(ret_spot->name, "..") == 0 || text[0] == '/')
		return WASI_NOTCAPABLE;
	if (slash)
		*slash = '\0';
	ret_spot->dir_fd = open_beneath(wasi_host(call, wasi_word(call, fd_slot)),
					slash ? text : ".", O_PATH | O_DIRECTORY);
	return wasi_errno(ret_spot->dir_fd);
}

/* Whether what is to be taken away is no directory, though its name ends in a slash. */
static bool is_misnamed(const struct spot *spot)
{
	struct stat st;

	return spot->has_slash &&
	       fstatat(spot->dir_fd, spot->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       !S_ISDIR(st.st_mode);
}

static uint64_t open_flags(const struct wasi_call *call)
{
	uint32_t asked = wasi_word(call, 4), given = wasi_word(call, 7);
	uint64_t rights = wasi_long(call, 5);
	uint64_t flags =
		rights & RIGHT_WRITE ? (rights & RIGHT_READ ? O_RDWR : O_WRONLY) : O_RDONLY;

	if (asked & OPEN_DIRECTORY)
		flags = O_RDONLY | O_DIRECTORY;
	flags |= (asked & OPEN_CREATE ? O_CREAT : 0) | (asked & OPEN_EXCLUSIVE ? O_EXCL : 0) |
		 (asked & OPEN_TRUNCATE ? O_TRUNC : 0) | (given & 1 ? O_APPEND : 0) |
		 (given & 4 ? O_NONBLOCK : 0) | (given & (2 | 8 | 16) ? O_SYNC : 0);
	return wasi_word(call, 1) & FOLLOW ? flags : flags | O_NOFOLLOW;
}

static uint32_t path_open(struct wasi_call *call)
{
	struct path path;
	uint32_t status = take_path(call, 2, &path);
	int host, fd;

	/* A descriptor the guest does not learn of would leak. */
	if (!status && !wasi_bytes(call, wasi_word(call, 8), sizeof(uint32_t)))
		status = WASI_FAULT;
	if (status)
		return status;
	host = open_beneath(wasi_host(call, wasi_word(call, 0)), path.text, open_flags(call));
	if (host < 0)
		return wasi_error();
	fd = wasi_number(call->runner, host);
	return fd < 0 ? WASI_MFILE : wasi_store32(call, wasi_word(call, 8), (uint32_t)fd);
}

/* Without rights to what it is: its record can be read, and its times set. */
static int look(const struct wasi_call *call, uint32_t *ret_status)
{
	struct path path;
	uint64_t flags = O_PATH | (wasi_word(call, 1) & FOLLOW ? 0 : O_NOFOLLOW);
	int fd = -1;

	*ret_status = take_path(call, 2, &path);
	if (*ret_status == WASI_SUCCESS) {
		fd = open_beneath(wasi_host(call, wasi_word(call, 0)), path.text, flags);
		*ret_status = wasi_errno(fd);
	}
	return fd;
}

static uint32_t path_filestat_get(struct wasi_call *call)
{
	uint32_t status;
	int fd = look(call, &status);
	struct stat st;

	if (fd < 0)
		return status;
	status = fstat(fd, &st) < 0 ? wasi_error() : wasi_store_stat(call, wasi_word(call, 4), &st);
	(void)close(fd);
	return status;
}

static uint32_t path_filestat_set_times(struct wasi_call *call)
{
	struct timespec times[2];
	uint32_t status;
	int fd;

	if (wasi_times(call, 4, wasi_word(call, 6), times) < 0)
		return WASI_INVAL;
	fd = look(call, &status);
	if (fd < 0)
		return status;
	status = wasi_errno(utimensat(fd, "", times, AT_EMPTY_PATH));
	(void)close(fd);
	return status;
}

static uint32_t path_create_directory(struct wasi_call *call)
{
	struct spot spot = { .dir_fd = -1 };
	uint32_t status = find(call, 0, 1, &spot);

	if (!status)
		status = wasi_errno(mkdirat(spot.dir_fd, spot.name, 0777));
	leave(&spot);
	return status;
}

static uint32_t remove_at(struct wasi_call *call, int flags)
{
	struct spot spot = { .dir_fd = -1 };
	uint32_t status = find(call, 0, 1, &spot);

	if (!status && is_misnamed(&spot))
		status = WASI_NOTDIR;
	if (!status)
		status = wasi_errno(unlinkat(spot.dir_fd, spot.name, flags));
	leave(&spot);
	return status;
}

static uint32_t path_remove_directory(struct wasi_call *call)
{
	return remove_at(call, AT_REMOVEDIR);
}

static uint32_t path_unlink_file(struct wasi_call *call)
{
	return remove_at(call, 0);
}

/* Two places on two file systems: no path has left its directory. */
static uint32_t errno_of_both(int status)
{
	return status < 0 && errno == EXDEV ? (uint32_t)WASI_XDEV : wasi_errno(status);
}

static uint32_t path_rename(struct wasi_call *call)
{
	struct spot from = { .dir_fd = -1 }, to = { .dir_fd = -1 };
	uint32_t status = find(call, 0, 1, &from);

	if (!status)
		status = find(call, 3, 4, &to);
	if (!status && (is_misnamed(&from) || is_misnamed(&to)))
		status = WASI_NOTDIR;
	if (!status)
		status = errno_of_both(renameat(from.dir_fd, from.name, to.dir_fd, to.name));
	leave(&from);
	leave(&to);
	return status;
}

static uint32_t path_link(struct wasi_call *call)
{
	struct spot from = { .dir_fd = -1 }, to = { .dir_fd = -1 };
	uint32_t status = wasi_word(call, 1) & FOLLOW ? WASI_INVAL : find(call, 0, 2, &from);

	if (!status)
		status = find(call, 4, 5, &to);
	if (!status)
		status = errno_of_both(linkat(from.dir_fd, from.name, to.dir_fd, to.name, 0));
	leave(&from);
	leave(&to);
	return status;
}

static uint32_t path_symlink(struct wasi_call *call)
{
	struct path target;
	struct spot spot = { .dir_fd = -1 };
	uint32_t status = take_path(call, 0, &target);

	/* A link that leads out would not be followed here, but later by a program on the host. */
	if (!status && target.text[0] == '/')
		status = WASI_NOTCAPABLE;
	if (!status)
		status = find(call, 2, 3, &spot);
	if (!status)
		status = wasi_errno(symlinkat(target.text, spot.dir_fd, spot.name));
	leave(&spot);
	return status;
}

static uint32_t path_readlink(struct wasi_call *call)
{
	uint32_t room = wasi_word(call, 4);
	char *to = (char *)wasi_bytes(call, wasi_word(call, 3), room);
	struct spot spot = { .dir_fd = -1 };
	uint32_t status = to ? find(call, 0, 1, &spot) : (uint32_t)WASI_FAULT;
	/* To the kernel a length beyond 2^31 is negative. */
	size_t part = room < PATH_MAX ? room : PATH_MAX;
	ssize_t len = status ? -1 : readlinkat(spot.dir_fd, spot.name, to, part);

	if (!status)
		status = len < 0 ? wasi_error()
				 : wasi_store32(call, wasi_word(call, 5), (uint32_t)len);
	leave(&spot);
	return status;
}

const struct wasi_function wasi_path_functions[] = {
	{ "path_open", "iiiiiIIii", path_open },
	{ "path_filestat_get", "iiiii", path_filestat_get },
	{ "path_filestat_set_times", "iiiiIIi", path_filestat_set_times },
	{ "path_create_directory", "iii", path_create_directory },
	{ "path_remove_directory", "iii", path_remove_directory },
	{ "path_unlink_file", "iii", path_unlink_file },
	{ "path_rename", "iiiiii", path_rename },
	{ "path_link", "iiiiiii", path_link },
	{ "path_symlink", "iiiii", path_symlink },
	{ "path_readlink", "iiiiii", path_readlink },
	{ NULL, NULL, NULL },
};
