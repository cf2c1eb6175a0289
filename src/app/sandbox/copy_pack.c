/* SPDX-License-Identifier: Apache-2.0 */
/* A directory as a tar archive. */
#include "app/sandbox/copy_pack.h"

#include "base/dir.h"
#include "base/fd.h"
#include "base/own.h"
#include "decide/stage/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536

struct pack {
	int out_fd; /* -1: only looked through */
	const char *top;
	struct str path; /* of what is looked at, from the top on: "./a/b" */
	struct copied counts;
	struct error *err;
};

static int fail(struct pack *pack)
{
	return error_errno(pack->err, ERROR_USAGE, "%s/%s", pack->top, str_cstr(&pack->path));
}

static int put(struct pack *pack, const struct str *bytes)
{
	return fd_write_all(pack->out_fd, bytes->data, bytes->len) < 0
		       ? error_errno(pack->err, ERROR_HOST, "the sandbox takes no more")
		       : 0;
}

static int put_header(struct pack *pack, const struct stat *st, char type, const char *link)
{
	owned(str_done) struct str header = STR_INIT;
	/* Rights of their own are nothing to hand in. */
	const struct tar_entry entry = { .path = str_cstr(&pack->path),
					 .type = type,
					 .mode = st->st_mode & (type == 'd' ? 01777u : 0777u),
					 .size = type == 'f' ? (uint64_t)st->st_size : 0,
					 .mtime_s = st->st_mtime > 0 ? (uint64_t)st->st_mtime : 0,
					 .link = link };

	if (pack->out_fd < 0)
		return 0;
	tar_add_header(&header, &entry);
	return put(pack, &header);
}

/* Exactly as many bytes as the header announced, whatever happens to the file meanwhile. */
static int put_content(struct pack *pack, int fd, uint64_t size)
{
	owned(free_ptr) char *chunk = xmalloc(CHUNK);
	uint64_t left = size, padding = tar_padding(size);

	while (left > 0) {
		size_t want = left < CHUNK ? (size_t)left : CHUNK;
		ssize_t got = read(fd, chunk, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(pack);
		if (got == 0) {
			memset(chunk, 0, want);
			got = (ssize_t)want;
		}
		if (fd_write_all(pack->out_fd, chunk, (size_t)got) < 0)
			return error_errno(pack->err, ERROR_HOST, "the sandbox takes no more");
		left -= (uint64_t)got;
	}
	memset(chunk, 0, TAR_BLOCK);
	return fd_write_all(pack->out_fd, chunk, (size_t)padding) < 0
		       ? error_errno(pack->err, ERROR_HOST, "the sandbox takes no more")
		       : 0;
}

static int pack_file(struct pack *pack, int dir_fd, const char *name)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(pack);
	pack->counts.files++;
	pack->counts.bytes += (uint64_t)st.st_size;
	if (pack->out_fd < 0)
		return 0;
	if (put_header(pack, &st, 'f', NULL) < 0)
		return -1;
	return put_content(pack, fd, (uint64_t)st.st_size);
}

static int pack_link(struct pack *pack, int dir_fd, const char *name, const struct stat *st)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return fail(pack);
	target[len] = '\0';
	pack->counts.links++;
	return put_header(pack, st, 'l', target);
}

static int pack_directory(struct pack *pack, int dir_fd, unsigned depth);

static int pack_subdirectory(struct pack *pack, int dir_fd, const char *name, unsigned depth)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fail(pack);
	if (depth >= PACK_DEPTH_MAX)
		return error_advise(pack->err, ERROR_USAGE, "copy a part of it",
				    "%s/%.100s...: more than %d directories in each other",
				    pack->top, str_cstr(&pack->path), PACK_DEPTH_MAX);
	return pack_directory(pack, fd, depth + 1);
}

static int pack_entry(struct pack *pack, int dir_fd, const char *name, unsigned depth)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(pack);
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return pack_file(pack, dir_fd, name);
	case S_IFLNK:
		return pack_link(pack, dir_fd, name, &st);
	case S_IFDIR:
		return pack_subdirectory(pack, dir_fd, name, depth);
	default:
		pack->counts.left_out++;
		return 0;
	}
}

static int list_names(struct pack *pack, int dir_fd, struct strv *names)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;
	int got;

	while ((got = dir_next(dir, &entry)) > 0)
		strv_add(names, entry->d_name);
	if (!dir || got < 0)
		return fail(pack);
	/* The same order both times, and every time. */
	strv_sort(names);
	return 0;
}

static int pack_directory(struct pack *pack, int dir_fd, unsigned depth)
{
	owned(strv_done) struct strv names = STRV_INIT;
	size_t len = pack->path.len;
	struct stat st;

	if (fstat(dir_fd, &st) < 0)
		return fail(pack);
	if (list_names(pack, dir_fd, &names) < 0)
		return -1;
	/* Root inside may not write to a directory that is shut, but tar believes it may: it is shut behind what is in it. */
	struct stat open_st = st;

	open_st.st_mode |= S_IRWXU;
	pack->counts.directories++;
	if (put_header(pack, &open_st, 'd', NULL) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		str_addf(&pack->path, "/%s", names.items[i]);
		if (pack_entry(pack, dir_fd, names.items[i], depth) < 0)
			return -1;
		str_truncate(&pack->path, len);
	}
	return open_st.st_mode == st.st_mode ? 0 : put_header(pack, &st, 'd', NULL);
}

static int walk(struct pack *pack, int dir_fd)
{
	int status;

	str_add(&pack->path, ".");
	status = pack_directory(pack, dir_fd, 0);
	str_done(&pack->path);
	return status;
}

int pack_survey(int dir_fd, const char *path, struct copied *ret_copied, struct error *err)
{
	struct pack pack = { .out_fd = -1, .top = path, .err = err };
	int status = walk(&pack, dir_fd);

	*ret_copied = pack.counts;
	return status;
}

int pack_write(int dir_fd, const char *path, int out_fd, struct error *err)
{
	struct pack pack = { .out_fd = out_fd, .top = path, .err = err };
	owned(str_done) struct str end = STR_INIT;

	if (walk(&pack, dir_fd) < 0)
		return -1;
	tar_add_end(&end);
	return put(&pack, &end);
}
