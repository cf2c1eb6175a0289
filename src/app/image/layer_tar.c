/* SPDX-License-Identifier: Apache-2.0 */
/* A layer as a tar archive that depends on nothing but what the layer holds. */
#include "app/image/layer_tar.h"

#include "app/image/unpack.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "decide/stage/tar.h"
#include "workspace/disk/overlay.h"
#include "workspace/store/image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 262144
#define FLUSH_BYTES 262144

/* A file of several names, as it was written first. */
struct linked {
	ino_t ino;
	char *path;
};

/* A directory as it lies in the layers that show it, topmost first. */
struct stack {
	int fds[IMAGE_LAYERS_MAX];
	size_t count;
};

struct writer {
	const struct layer_tar *how;
	struct str out; /* not handed on yet */
	struct str path;
	struct sha256 sum;
	uint64_t bytes;
	void *linked; /* tsearch(3), by inode */
	char *chunk;
	struct error *err;
};

static int by_inode(const void *a, const void *b)
{
	const struct linked *left = a, *right = b;

	return left->ino < right->ino ? -1 : left->ino > right->ino;
}

static void linked_free(void *item)
{
	free(((struct linked *)item)->path);
	free(item);
}

static int fail(const struct writer *writer)
{
	char shown[STR_SHOWN_SIZE];

	return error_errno(writer->err, ERROR_HOST, "%s",
			   str_shown(str_cstr(&writer->path), shown));
}

static int flush(struct writer *writer)
{
	sha256_add(&writer->sum, writer->out.data, writer->out.len);
	writer->bytes += writer->out.len;
	if (writer->how->to_fd >= 0 &&
	    fd_write_all(writer->how->to_fd, writer->out.data, writer->out.len) < 0)
		return error_errno(writer->err, ERROR_HOST, "cannot write the archive");
	str_clear(&writer->out);
	return 0;
}

static int put(struct writer *writer, const struct tar_entry *entry)
{
	tar_add_header(&writer->out, entry);
	return writer->out.len > FLUSH_BYTES ? flush(writer) : 0;
}

/* A mark of deletion, an empty file: NAME in the directory that the path has. */
static int put_mark(struct writer *writer, const char *prefix, const char *name)
{
	size_t len = writer->path.len;
	int status;

	str_addf(&writer->path, "%s%s%s", len ? "/" : "", prefix, name);
	const struct tar_entry entry = { .path = str_cstr(&writer->path),
					 .type = 'f',
					 .mode = 0600 };

	status = put(writer, &entry);
	str_truncate(&writer->path, len);
	return status;
}

static int put_content(struct writer *writer, int dir_fd, const char *name, uint64_t size)
{
	static const char zeros[TAR_BLOCK];
	owned(fd_close) int fd = file_open(dir_fd, name, O_NOFOLLOW, NULL);
	uint64_t done = 0;

	if (fd < 0)
		return fail(writer);
	while (done < size) {
		size_t want = size - done < CHUNK ? (size_t)(size - done) : CHUNK;
		ssize_t got = fd_read_at(fd, writer->chunk, want, (off_t)done);

		if (got != (ssize_t)want) {
			errno = got < 0 ? errno : EIO;
			return fail(writer);
		}
		str_add_bytes(&writer->out, writer->chunk, want);
		done += want;
		if (flush(writer) < 0)
			return -1;
	}
	str_add_bytes(&writer->out, zeros, (size_t)tar_padding(size));
	return 0;
}

/* Where a file of several names was written before; NULL: it was not, and is noted now. */
static const char *find_linked(struct writer *writer, const struct stat *st)
{
	struct linked *item = xcalloc(1, sizeof(*item));
	struct linked *const *found;

	item->ino = st->st_ino;
	found = tsearch(item, &writer->linked, by_inode);
	if (found && *found != item) {
		free(item);
		return (*found)->path;
	}
	item->path = xstrdup(str_cstr(&writer->path));
	return NULL;
}

static int put_file(struct writer *writer, int dir_fd, const char *name, struct tar_entry *entry,
		    const struct stat *st)
{
	entry->link = st->st_nlink > 1 ? find_linked(writer, st) : NULL;
	if (entry->link) {
		entry->type = 'h';
		return put(writer, entry);
	}
	entry->size = (uint64_t)st->st_size;
	return put(writer, entry) < 0 ? -1 : put_content(writer, dir_fd, name, entry->size);
}

static int put_symlink(struct writer *writer, int dir_fd, const char *name, struct tar_entry *entry)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return fail(writer);
	target[len] = '\0';
	entry->link = target;
	entry->type = 'l';
	return put(writer, entry);
}

static void stack_done(struct stack *stack)
{
	while (stack->count > 0)
		close(stack->fds[--stack->count]);
}

static bool is_opaque(int fd)
{
	char value[2];

	return (overlay_mark(fd, true, "opaque", value, sizeof(value)) == 1 && value[0] == 'y') ||
	       (overlay_mark(fd, false, "opaque", value, sizeof(value)) == 1 && value[0] == 'y');
}

/* NAME in ABOVE from layer FIRST on, down to where something else or a mark hides the rest. */
static int stack_enter(const struct stack *above, size_t first, const char *name,
		       struct stack *ret_stack)
{
	for (size_t i = first; i < above->count; i++) {
		int fd = openat(above->fds[i], name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			return errno == ENOTDIR || errno == ELOOP ? 0 : -1;
		ret_stack->fds[ret_stack->count++] = fd;
		/* What it would show lies elsewhere in the layers below, which an archive cannot say. */
		if (overlay_mark(fd, false, "redirect", NULL, 0) > 0) {
			errno = EXDEV;
			return -1;
		}
		if (is_opaque(fd))
			break;
	}
	return 0;
}

static int put_below(struct writer *writer, const struct stack *dirs, unsigned depth);

static int put_directory(struct writer *writer, const struct stack *dirs, size_t at,
			 struct tar_entry *entry, unsigned depth)
{
	const char *slash = strrchr(entry->path, '/');
	owned(stack_done) struct stack below = { .count = 0 };

	entry->type = 'd';
	if (stack_enter(dirs, at, slash ? slash + 1 : entry->path, &below) < 0)
		return fail(writer);
	return put(writer, entry) < 0 ? -1 : put_below(writer, &below, depth + 1);
}

static int put_entry(struct writer *writer, const struct stack *dirs, size_t at, const char *name,
		     unsigned depth)
{
	int dir_fd = dirs->fds[at];
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(writer);
	struct tar_entry entry = { .path = str_cstr(&writer->path),
				   .type = 'f',
				   .mode = st.st_mode & 07777,
				   .uid = writer->how->keeps_owners ? st.st_uid : 0,
				   .gid = writer->how->keeps_owners ? st.st_gid : 0,
				   .mtime_s = st.st_mtim.tv_sec > 0 ? (uint64_t)st.st_mtim.tv_sec
								    : 0 };

	if (S_ISDIR(st.st_mode))
		return put_directory(writer, dirs, at, &entry, depth);
	if (S_ISLNK(st.st_mode))
		return put_symlink(writer, dir_fd, name, &entry);
	if (S_ISREG(st.st_mode))
		return put_file(writer, dir_fd, name, &entry, &st);
	/* Nothing else is ever unpacked, and a sandbox's changes may hold fifos. */
	return 0;
}

static int put_one(struct writer *writer, const struct stack *dirs, const char *name,
		   unsigned depth)
{
	size_t len = writer->path.len, at = 0;
	struct stat st;
	int status;

	while (at < dirs->count && fstatat(dirs->fds[at], name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		at++;
	if (at == dirs->count)
		return fail(writer);
	if (overlay_is_whiteout(&st))
		return writer->how->flattens ? 0 : put_mark(writer, ".wh.", name);
	str_addf(&writer->path, "%s%s", len ? "/" : "", name);
	status = put_entry(writer, dirs, at, name, depth);
	str_truncate(&writer->path, len);
	return status;
}

static int list_names(const struct writer *writer, int dir_fd, struct strv *names)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;
	int more;

	while ((more = dir_next(dir, &entry)) > 0)
		strv_add(names, entry->d_name);
	return more < 0 ? fail(writer) : 0;
}

/* As deep as archives are unpacked: the stack is bounded. */
static int put_below(struct writer *writer, const struct stack *dirs, unsigned depth)
{
	owned(strv_done) struct strv names = STRV_INIT;

	if (depth > UNPACK_DEPTH_MAX)
		return error_set(writer->err, ERROR_INPUT, "more than %u directories deep",
				 UNPACK_DEPTH_MAX);
	for (size_t i = 0; i < dirs->count; i++) {
		if (list_names(writer, dirs->fds[i], &names) < 0)
			return -1;
	}
	strv_sort(&names);
	if (!writer->how->flattens && is_opaque(dirs->fds[dirs->count - 1]) &&
	    put_mark(writer, ".wh..wh.", ".opq") < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		if (i > 0 && strcmp(names.items[i], names.items[i - 1]) == 0)
			continue;
		if (put_one(writer, dirs, names.items[i], depth) < 0)
			return -1;
	}
	return 0;
}

int layer_tar(const struct layer_tar *how, char ret_hex[static SHA256_HEX_SIZE],
	      uint64_t *ret_bytes, struct error *err)
{
	struct writer writer = {
		.how = how, .out = STR_INIT, .path = STR_INIT, .chunk = xmalloc(CHUNK), .err = err
	};
	struct stack top = { .count = how->count };
	int status;

	memcpy(top.fds, how->dir_fds, how->count * sizeof(top.fds[0]));
	sha256_start(&writer.sum);
	status = put_below(&writer, &top, 0);
	if (status == 0) {
		tar_add_end(&writer.out);
		status = flush(&writer);
	}
	if (status == 0) {
		sha256_end(&writer.sum, ret_hex);
		*ret_bytes = writer.bytes;
	}
	tdestroy(writer.linked, linked_free);
	str_done(&writer.out);
	str_done(&writer.path);
	free(writer.chunk);
	return status;
}

int layer_digest(int dir_fd, bool keeps_owners, char ret_hex[static SHA256_HEX_SIZE],
		 struct error *err)
{
	const struct layer_tar how = { &dir_fd, 1, false, keeps_owners, -1 };
	uint64_t bytes;

	return layer_tar(&how, ret_hex, &bytes, err);
}
