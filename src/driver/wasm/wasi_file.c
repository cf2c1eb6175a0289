/* SPDX-License-Identifier: Apache-2.0 */
/* WASI preview 1 of our own: what is done with a descriptor. */
#include "driver/wasm/wasi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define RANGES_MAX 64
#define FLAG_APPEND 1u
#define FLAG_NONBLOCK 4u
#define ENTRY_SIZE 24u
#define RIGHT_SEEK ((uint64_t)1 << 2)
#define RIGHT_TELL ((uint64_t)1 << 5)

static int host_of(const struct wasi_call *call)
{
	return wasi_host(call, wasi_word(call, 0));
}

/*
 * The guest's list of ranges (slots 1 and 2) as ours; how many, or -1. More than fit are left for the next call, and empty
 * ones are left out: a list that begins with many of them is no end of a file.
 */
static int take_ranges(const struct wasi_call *call, struct iovec ret_ranges[RANGES_MAX])
{
	uint32_t count = wasi_word(call, 2);
	const uint8_t *list =
		count > UINT32_MAX / 8 ? NULL : wasi_bytes(call, wasi_word(call, 1), count * 8);
	int used = 0;

	if (!list)
		return -1;
	for (uint32_t i = 0; i < count && used < RANGES_MAX; i++) {
		uint32_t range[2];
		uint8_t *at;

		memcpy(range, list + (size_t)i * 8, sizeof(range));
		at = wasi_bytes(call, range[0], range[1]);
		if (!at)
			return -1;
		if (range[1] > 0)
			ret_ranges[used++] = (struct iovec){ at, range[1] };
	}
	return used;
}

static uint32_t transferred(const struct wasi_call *call, size_t slot, ssize_t count)
{
	return count < 0 ? wasi_error()
			 : wasi_store32(call, wasi_word(call, slot), (uint32_t)count);
}

static uint32_t fd_read(struct wasi_call *call)
{
	struct iovec ranges[RANGES_MAX];
	int count = take_ranges(call, ranges), host = host_of(call);
	ssize_t got;

	if (count < 0)
		return WASI_FAULT;
	if (wasi_word(call, 0) == STDIN_FILENO && !call->runner->is_booted)
		return transferred(
			call, 3,
			count ? runner_boot(call->runner, ranges[0].iov_base, ranges[0].iov_len)
			      : 0);
	do
		got = readv(host, ranges, count);
	while (got < 0 && errno == EINTR);
	return transferred(call, 3, got);
}

static uint32_t fd_write(struct wasi_call *call)
{
	struct iovec ranges[RANGES_MAX];
	int count = take_ranges(call, ranges);
	ssize_t put;

	if (count < 0)
		return WASI_FAULT;
	do
		put = writev(host_of(call), ranges, count);
	while (put < 0 && errno == EINTR);
	return transferred(call, 3, put);
}

static uint32_t fd_pread(struct wasi_call *call)
{
	struct iovec ranges[RANGES_MAX];
	int count = take_ranges(call, ranges);

	if (count < 0)
		return WASI_FAULT;
	return transferred(call, 4,
			   preadv(host_of(call), ranges, count, (off_t)wasi_long(call, 3)));
}

static uint32_t fd_pwrite(struct wasi_call *call)
{
	struct iovec ranges[RANGES_MAX];
	int count = take_ranges(call, ranges);

	if (count < 0)
		return WASI_FAULT;
	return transferred(call, 4,
			   pwritev(host_of(call), ranges, count, (off_t)wasi_long(call, 3)));
}

/*
 * The streams are never closed: a file that is opened next would get their number, and what the runner itself has to say on
 * standard error would end up in there. The guest has lost them all the same.
 */
static int close_host(int host)
{
	return host <= STDERR_FILENO ? 0 : close(host);
}

static uint32_t fd_close(struct wasi_call *call)
{
	int host = host_of(call);

	if (host < 0)
		return WASI_BADF;
	call->runner->files[wasi_word(call, 0)].host = -1;
	return wasi_errno(close_host(host));
}

static uint32_t fd_fdstat_get(struct wasi_call *call)
{
	uint8_t *to = wasi_bytes(call, wasi_word(call, 1), 24);
	int host = host_of(call), flags = fcntl(host, F_GETFL);
	uint64_t rights;
	struct stat st;

	if (flags < 0 || fstat(host, &st) < 0)
		return wasi_error();
	if (!to)
		return WASI_FAULT;
	memset(to, 0, 8);
	to[0] = wasi_type(st.st_mode);
	to[2] = (uint8_t)((flags & O_APPEND ? FLAG_APPEND : 0) |
			  (flags & O_NONBLOCK ? FLAG_NONBLOCK : 0));
	/* Rights are the kernel's here; but a guest recognises a terminal by the missing right to seek. */
	rights = isatty(host) ? ~(RIGHT_SEEK | RIGHT_TELL) : UINT64_MAX;
	memcpy(to + 8, &rights, 8);
	memset(to + 16, 0xff, 8);
	return WASI_SUCCESS;
}

static uint32_t fd_fdstat_set_flags(struct wasi_call *call)
{
	uint32_t wanted = wasi_word(call, 1);
	int host = host_of(call), flags = fcntl(host, F_GETFL);

	if (flags < 0)
		return wasi_error();
	flags &= ~(O_APPEND | O_NONBLOCK);
	flags |= (wanted & FLAG_APPEND ? O_APPEND : 0) | (wanted & FLAG_NONBLOCK ? O_NONBLOCK : 0);
	/* The streams are shared with the parent of the run, whatever their numbers are now. */
	if (host <= STDERR_FILENO)
		return WASI_NOTSUP;
	return wasi_errno(fcntl(host, F_SETFL, flags));
}

static uint32_t fd_filestat_get(struct wasi_call *call)
{
	struct stat st;

	return fstat(host_of(call), &st) < 0 ? wasi_error()
					     : wasi_store_stat(call, wasi_word(call, 1), &st);
}

static uint32_t fd_filestat_set_size(struct wasi_call *call)
{
	return wasi_errno(ftruncate(host_of(call), (off_t)wasi_long(call, 1)));
}

static uint32_t fd_filestat_set_times(struct wasi_call *call)
{
	struct timespec times[2];

	if (wasi_times(call, 1, wasi_word(call, 3), times) < 0)
		return WASI_INVAL;
	return wasi_errno(futimens(host_of(call), times));
}

static uint32_t fd_allocate(struct wasi_call *call)
{
	/* Of the kernel, not of the C library, which writes block by block where the kernel has none. */
	return wasi_errno(
		fallocate(host_of(call), 0, (off_t)wasi_long(call, 1), (off_t)wasi_long(call, 2)));
}

static uint32_t fd_advise(struct wasi_call *call)
{
	return host_of(call) < 0 ? WASI_BADF : WASI_SUCCESS;
}

static uint32_t fd_sync(struct wasi_call *call)
{
	return wasi_errno(fsync(host_of(call)));
}

static uint32_t fd_datasync(struct wasi_call *call)
{
	return wasi_errno(fdatasync(host_of(call)));
}

static uint32_t fd_seek(struct wasi_call *call)
{
	static const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END };
	uint32_t whence = wasi_word(call, 2);
	off_t at;

	if (whence > 2)
		return WASI_INVAL;
	at = lseek(host_of(call), (off_t)wasi_long(call, 1), whences[whence]);
	return at < 0 ? wasi_error() : wasi_store64(call, wasi_word(call, 3), (uint64_t)at);
}

static uint32_t fd_tell(struct wasi_call *call)
{
	off_t at = lseek(host_of(call), 0, SEEK_CUR);

	return at < 0 ? wasi_error() : wasi_store64(call, wasi_word(call, 1), (uint64_t)at);
}

static uint32_t fd_renumber(struct wasi_call *call)
{
	uint32_t from = wasi_word(call, 0), to = wasi_word(call, 1);

	if (wasi_host(call, from) < 0 || wasi_host(call, to) < 0)
		return WASI_BADF;
	if (from == to)
		return WASI_SUCCESS;
	(void)close_host(call->runner->files[to].host);
	call->runner->files[to] = call->runner->files[from];
	call->runner->files[from].host = -1;
	return WASI_SUCCESS;
}

static const char *preopen_name(const struct wasi_call *call)
{
	uint32_t fd = wasi_word(call, 0);

	return wasi_host(call, fd) < 0 ? NULL : call->runner->files[fd].name;
}

static uint32_t fd_prestat_get(struct wasi_call *call)
{
	const char *name = preopen_name(call);

	if (!name)
		return WASI_BADF;
	/* A directory; the length of its name. */
	return wasi_store64(call, wasi_word(call, 1), (uint64_t)strlen(name) << 32);
}

static uint32_t fd_prestat_dir_name(struct wasi_call *call)
{
	const char *name = preopen_name(call);
	uint32_t room = wasi_word(call, 2);
	uint8_t *to = wasi_bytes(call, wasi_word(call, 1), room);
	size_t len = name ? strlen(name) : 0;

	if (!name)
		return WASI_BADF;
	if (!to)
		return WASI_FAULT;
	if (len > room)
		return WASI_NAMETOOLONG;
	/* The guest has asked for the length: no NUL behind it. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(to, name, len);
	return WASI_SUCCESS;
}

static uint8_t type_of(unsigned char type)
{
	return wasi_type((mode_t)DTTOIF((unsigned)type));
}

/* As much of an entry as fits; a truncated one means that there is more. */
static uint32_t put_entry(uint8_t *to, uint32_t room, const struct dirent64 *entry)
{
	uint8_t head[ENTRY_SIZE] = { 0 };
	const uint64_t next = (uint64_t)entry->d_off, ino = entry->d_ino;
	const uint32_t len = (uint32_t)strlen(entry->d_name);
	uint32_t part = room < ENTRY_SIZE ? room : ENTRY_SIZE;

	memcpy(head, &next, 8);
	memcpy(head + 8, &ino, 8);
	memcpy(head + 16, &len, 4);
	head[20] = type_of(entry->d_type);
	memcpy(to, head, part);
	room -= part;
	memcpy(to + part, entry->d_name, len < room ? len : room);
	return part + (len < room ? len : room);
}

static uint32_t fd_readdir(struct wasi_call *call)
{
	uint32_t room = wasi_word(call, 2), used = 0;
	uint8_t *to = wasi_bytes(call, wasi_word(call, 1), room);
	int host = host_of(call);
	char buffer[8192] __attribute__((aligned(8)));
	struct stat st;

	if (!to)
		return WASI_FAULT;
	if (fstat(host, &st) < 0)
		return wasi_error();
	/* Asked before: a file would have been wound. */
	if (!S_ISDIR(st.st_mode))
		return WASI_NOTDIR;
	if (lseek(host, (off_t)wasi_long(call, 3), SEEK_SET) < 0)
		return wasi_error();
	while (used < room) {
		long got = syscall(SYS_getdents64, host, buffer, sizeof(buffer));

		if (got < 0)
			return wasi_error();
		if (got == 0)
			break;
		for (long at = 0; at < got && used < room;) {
			const struct dirent64 *entry = (const void *)(buffer + at);

			used += put_entry(to + used, room - used, entry);
			at += entry->d_reclen;
		}
	}
	return wasi_store32(call, wasi_word(call, 4), used);
}

static uint32_t no_socket(struct wasi_call *call)
{
	return host_of(call) < 0 ? WASI_BADF : WASI_NOTSOCK;
}

static uint32_t not_here(struct wasi_call *call)
{
	(void)call;
	return WASI_NOTSUP;
}

const struct wasi_function wasi_file_functions[] = {
	{ "fd_read", "iiii", fd_read },
	{ "fd_write", "iiii", fd_write },
	{ "fd_pread", "iiiIi", fd_pread },
	{ "fd_pwrite", "iiiIi", fd_pwrite },
	{ "fd_close", "i", fd_close },
	{ "fd_fdstat_get", "ii", fd_fdstat_get },
	{ "fd_fdstat_set_flags", "ii", fd_fdstat_set_flags },
	{ "fd_fdstat_set_rights", "iII", not_here },
	{ "fd_filestat_get", "ii", fd_filestat_get },
	{ "fd_filestat_set_size", "iI", fd_filestat_set_size },
	{ "fd_filestat_set_times", "iIIi", fd_filestat_set_times },
	{ "fd_allocate", "iII", fd_allocate },
	{ "fd_advise", "iIIi", fd_advise },
	{ "fd_sync", "i", fd_sync },
	{ "fd_datasync", "i", fd_datasync },
	{ "fd_seek", "iIii", fd_seek },
	{ "fd_tell", "ii", fd_tell },
	{ "fd_renumber", "ii", fd_renumber },
	{ "fd_prestat_get", "ii", fd_prestat_get },
	{ "fd_prestat_dir_name", "iii", fd_prestat_dir_name },
	{ "fd_readdir", "iiiIi", fd_readdir },
	{ "sock_accept", "iii", no_socket },
	{ "sock_recv", "iiiiii", no_socket },
	{ "sock_send", "iiiii", no_socket },
	{ "sock_shutdown", "ii", no_socket },
	{ NULL, NULL, NULL },
};
