/* SPDX-License-Identifier: Apache-2.0 */
/* A directory as a tar archive. */
#include "app/sandbox/copy_pack.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "decide/stage/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536
#define SPANS_MAX 1024

/* A stretch of data between holes. */
struct span {
	uint64_t at, size;
};

struct pack {
	int out_fd; /* -1: only looked through */
	const char *top;
	struct str path; /* of what is looked at, from the top on: "./a/b" */
	struct copied counts;
	struct error *err;
};

static int fail(struct pack *pack, const char *path)
{
	return error_errno(pack->err, ERROR_USAGE, "%s/%s", pack->top, path);
}

static int put(struct pack *pack, const struct str *bytes)
{
	return fd_write_all(pack->out_fd, bytes->data, bytes->len) < 0
		       ? error_errno(pack->err, ERROR_HOST, "the sandbox takes no more")
		       : 0;
}

static struct tar_entry entry_of(struct pack *pack, const struct statx *st, char type,
				 const char *link)
{
	/* Rights of their own are nothing to hand in. */
	return (struct tar_entry){ .path = str_cstr(&pack->path),
				   .type = type,
				   .mode = st->stx_mode & (type == 'd' ? 01777u : 0777u),
				   .size = type == 'f' ? st->stx_size : 0,
				   .mtime_s = st->stx_mtime.tv_sec > 0
						      ? (uint64_t)st->stx_mtime.tv_sec
						      : 0,
				   .link = link };
}

static int put_header(struct pack *pack, const struct statx *st, char type, const char *link)
{
	owned(str_done) struct str header = STR_INIT;

	if (pack->out_fd < 0)
		return 0;
	const struct tar_entry entry = entry_of(pack, st, type, link);

	tar_add_header(&header, &entry);
	return put(pack, &header);
}

/* Exactly as many bytes as the header announced, whatever happens to the file meanwhile. */
static int put_data(struct pack *pack, int fd, const struct span *span)
{
	owned(free_ptr) char *chunk = xmalloc(CHUNK);
	uint64_t done = 0;

	while (done < span->size) {
		size_t want = span->size - done < CHUNK ? (size_t)(span->size - done) : CHUNK;
		ssize_t got = pread(fd, chunk, want, (off_t)(span->at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(pack, str_cstr(&pack->path));
		if (got == 0) {
			memset(chunk, 0, want);
			got = (ssize_t)want;
		}
		if (fd_write_all(pack->out_fd, chunk, (size_t)got) < 0)
			return error_errno(pack->err, ERROR_HOST, "the sandbox takes no more");
		done += (uint64_t)got;
	}
	return 0;
}

/* Where the data of a file with holes lies; an empty span at the end says how long it is. */
static size_t find_spans(int fd, uint64_t size, struct span spans[static SPANS_MAX])
{
	size_t count = 0;
	uint64_t at = 0;

	while (at < size) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (data < 0 && errno == ENXIO)
			break;
		/* A filesystem that does not tell, or more holes than there is room for: the rest is data. */
		bool is_rest = hole <= data || (uint64_t)hole > size || count == SPANS_MAX - 2;
		uint64_t from = data < 0 ? at : (uint64_t)data;

		at = is_rest ? size : (uint64_t)hole;
		if (from < at)
			spans[count++] = (struct span){ from, at - from };
	}
	spans[count++] = (struct span){ size, 0 };
	return count;
}

/* What stands before the data of a file with holes; *ret_bytes is how long that and the data are. */
static void add_map(const struct span *spans, size_t count, struct str *map, uint64_t *ret_bytes)
{
	uint64_t data = 0;

	str_addf(map, "%zu\n", count);
	for (size_t i = 0; i < count; i++) {
		str_addf(map, "%llu\n%llu\n", (unsigned long long)spans[i].at,
			 (unsigned long long)spans[i].size);
		data += spans[i].size;
	}
	while (map->len % TAR_BLOCK)
		str_add_bytes(map, "", 1);
	*ret_bytes = map->len + data;
}

static int put_file(struct pack *pack, int fd, const struct statx *st)
{
	owned(str_done) struct str header = STR_INIT, map = STR_INIT, padding = STR_INIT;
	struct tar_entry entry = entry_of(pack, st, 'f', NULL);
	struct span spans[SPANS_MAX] = { { 0, st->stx_size } };
	size_t count = 1;

	if (st->stx_blocks * 512 < st->stx_size) {
		count = find_spans(fd, st->stx_size, spans);
		add_map(spans, count, &map, &entry.size);
		entry.real_size = st->stx_size;
	}
	tar_add_header(&header, &entry);
	if (put(pack, &header) < 0 || put(pack, &map) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (put_data(pack, fd, &spans[i]) < 0)
			return -1;
	}
	for (uint64_t left = tar_padding(entry.size); left > 0; left--)
		str_add_bytes(&padding, "", 1);
	return put(pack, &padding);
}

static int pack_file(struct pack *pack, int dir_fd, const char *name)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct statx st;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0)
		return fail(pack, str_cstr(&pack->path));
	pack->counts.files++;
	pack->counts.bytes += st.stx_size;
	return pack->out_fd < 0 ? 0 : put_file(pack, fd, &st);
}

static int pack_link(struct pack *pack, const struct walk_entry *entry)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(entry->dir_fd, entry->name, target, sizeof(target) - 1);

	if (len < 0)
		return fail(pack, str_cstr(&pack->path));
	target[len] = '\0';
	pack->counts.links++;
	return put_header(pack, entry->st, 'l', target);
}

/*
 * Root inside may not write to a directory that is shut, but tar believes it may: it is shut behind what is in it, when it
 * is left.
 */
static int pack_directory(struct pack *pack, const struct statx *st, bool is_leaving)
{
	struct statx open_st = *st;

	open_st.stx_mode |= S_IRWXU;
	if (is_leaving)
		return open_st.stx_mode == st->stx_mode ? 0 : put_header(pack, st, 'd', NULL);
	pack->counts.directories++;
	return put_header(pack, &open_st, 'd', NULL);
}

static int pack_entry(const struct walk_entry *entry, void *cookie)
{
	struct pack *pack = cookie;

	str_truncate(&pack->path, 1);
	str_addf(&pack->path, "/%s", entry->path);
	switch (entry->st->stx_mode & S_IFMT) {
	case S_IFREG:
		return pack_file(pack, entry->dir_fd, entry->name);
	case S_IFLNK:
		return pack_link(pack, entry);
	case S_IFDIR:
		return pack_directory(pack, entry->st, entry->is_leaving);
	default:
		pack->counts.left_out++;
		return 0;
	}
}

static int pack_all(struct pack *pack, int dir_fd)
{
	struct walk walk = { .purpose = WALK_PACK, .visit = pack_entry, .cookie = pack };
	struct statx st;

	str_add(&pack->path, ".");
	if (statx(dir_fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0)
		return fail(pack, ".");
	if (pack_directory(pack, &st, false) < 0)
		return -1;
	pack->err->code = ERROR_NONE;
	if (walk_tree(&walk, dir_fd, ".") < 0) {
		if (pack->err->code != ERROR_NONE)
			return -1;
		return errno == ELOOP
			       ? error_advise(pack->err, ERROR_USAGE, "copy a part of it",
					      "%s/%s: more than %d directories in each other",
					      pack->top, walk.failed_at, WALK_PACK_DEPTH)
			       : fail(pack, walk.failed_at);
	}
	str_truncate(&pack->path, 1);
	return pack_directory(pack, &st, true);
}

int pack_survey(int dir_fd, const char *path, struct copied *ret_copied, struct error *err)
{
	struct pack pack = { .out_fd = -1, .top = path, .err = err };
	int status = pack_all(&pack, dir_fd);

	str_done(&pack.path);
	*ret_copied = pack.counts;
	return status;
}

int pack_write(int dir_fd, const char *path, int out_fd, struct error *err)
{
	struct pack pack = { .out_fd = out_fd, .top = path, .err = err };
	owned(str_done) struct str end = STR_INIT;

	int status = pack_all(&pack, dir_fd);

	str_done(&pack.path);
	if (status < 0)
		return -1;
	tar_add_end(&end);
	return put(&pack, &end);
}
