/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of an archive put below one directory.
 *
 * Names are taken apart and put together again, parents opened without following any link, and whatever stands at an entry's
 * name is removed before the entry is made: no entry can reach through another one. Marks of deletion, which in an archive are
 * files (".wh.NAME", ".wh..wh..opq"), become those of the overlay.
 */
#include "app/image/unpack.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "workspace/disk/overlay.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK ".wh."
#define MARK_OPAQUE ".wh..wh..opq"

/* A directory's time is set when everything is in it. */
struct dated {
	char *path;
	struct timespec mtime;
};

struct tree {
	int root_fd;
	bool keeps_owners;
	struct unpack_counts *counts;
	/* Of the last entry: most archives list a directory's files together. */
	struct str parent;
	int parent_fd;
	struct dated *dated;
	size_t dated_count;
};

static void tree_done(struct tree *tree)
{
	str_done(&tree->parent);
	fd_close(&tree->parent_fd);
	for (size_t i = 0; i < tree->dated_count; i++)
		free(tree->dated[i].path);
	free(tree->dated);
}

/* PATH without empty parts and "."; "" is the top. */
static int clean(const char *path, struct str *ret_path, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	unsigned depth = 0;

	if (!path)
		return error_set(err, ERROR_INPUT, "an entry has no name that can be read");
	if (path[0] == '/')
		return error_set(err, ERROR_INPUT, "%s: an absolute name", str_shown(path, shown));
	for (size_t len; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 0 || (len == 1 && path[0] == '.'))
			continue;
		if (len == 2 && path[0] == '.' && path[1] == '.')
			return error_set(err, ERROR_INPUT, "a name with '..' in it");
		if (len > NAME_MAX || ++depth > UNPACK_DEPTH_MAX ||
		    ret_path->len + len > UNPACK_PATH_MAX)
			return error_set(err, ERROR_INPUT, "%s: too long a name, or too deep",
					 str_shown(path, shown));
		if (ret_path->len > 0)
			str_add_char(ret_path, '/');
		str_add_bytes(ret_path, path, len);
	}
	return 0;
}

static int fail(const char *path, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	bool is_theirs = errno == ENOTDIR || errno == ELOOP || errno == EISDIR || errno == EXDEV;

	/* A full disk is this machine's; a name that leads through a file is the archive's. */
	return error_errno(err, is_theirs ? ERROR_INPUT : ERROR_HOST, "%s", str_shown(path, shown));
}

static int open_dir(const struct tree *tree, const char *path)
{
	return sys_open_beneath(tree->root_fd, *path ? path : ".",
				O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Nothing of the layers below shows in directory FD. A root that cannot use the first mark mounts with the second. */
static int make_opaque(int fd)
{
	char name[64];
	bool is_marked = sys_fsetxattr(fd, overlay_mark_name(true, "opaque", name), "y", 1) == 0;

	if (geteuid() == 0)
		is_marked |=
			sys_fsetxattr(fd, overlay_mark_name(false, "opaque", name), "y", 1) == 0;
	return is_marked ? 0 : -1;
}

/* A directory that the archive did not name, or one that its layer deletes first and then has itself. */
static int make_parent(int dir_fd, const char *name)
{
	owned(fd_close) int fd = -1;
	struct stat st;

	if (sys_mkdirat(dir_fd, name, 0755) == 0)
		return 0;
	if (errno != EEXIST || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!overlay_is_whiteout(&st))
		return 0;
	if (sys_unlinkat(dir_fd, name, 0) < 0 || sys_mkdirat(dir_fd, name, 0755) < 0)
		return -1;
	fd = sys_open_beneath(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -1 : make_opaque(fd);
}

/* Directories that an archive leaves out, one after another. */
static int make_parents(const struct tree *tree, const char *path)
{
	for (size_t at = 0, len; path[at]; at += len + (path[at + len] == '/')) {
		len = strcspn(path + at, "/");
		owned(free_ptr) char *above = xstrndup(path, at ? at - 1 : 0);
		owned(free_ptr) char *name = xstrndup(path + at, len);
		owned(fd_close) int fd = open_dir(tree, above);

		if (fd < 0 || make_parent(fd, name) < 0)
			return -1;
	}
	return 0;
}

/* Makes parent_fd the directory that PATH lies in, and returns PATH's last part. NULL with an error. */
static const char *enter(struct tree *tree, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	owned(free_ptr) char *parent = xstrndup(path, slash ? (size_t)(slash - path) : 0);
	int fd;

	if (tree->parent_fd >= 0 && strcmp(parent, str_cstr(&tree->parent)) == 0)
		return slash ? slash + 1 : path;
	fd = open_dir(tree, parent);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && make_parents(tree, parent) == 0)
		fd = open_dir(tree, parent);
	if (fd < 0) {
		(void)fail(path, err);
		return NULL;
	}
	fd_close(&tree->parent_fd);
	tree->parent_fd = fd;
	str_clear(&tree->parent);
	str_add(&tree->parent, parent);
	return slash ? slash + 1 : path;
}

/* A mark of deletion. What this layer has itself under that name stays, and is all there is. */
static int put_mark(struct tree *tree, const char *name, struct error *err)
{
	const char *hidden = name + strlen(MARK);
	owned(fd_close) int fd = -1;

	if (strcmp(name, MARK_OPAQUE) == 0)
		return make_opaque(tree->parent_fd) < 0 ? fail(name, err) : 0;
	/* Notes of a file system that once made such marks. */
	if (str_starts(hidden, MARK))
		return 0;
	if (!*hidden || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0)
		return error_set(err, ERROR_INPUT, "a mark of deletion without a name");
	if (sys_mknodat(tree->parent_fd, hidden, S_IFCHR, 0) == 0)
		return 0;
	if (errno != EEXIST)
		return fail(name, err);
	fd = sys_open_beneath(tree->parent_fd, hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Another kind of file hides what is below it by itself. */
	return fd >= 0 && make_opaque(fd) < 0 ? fail(name, err) : 0;
}

/* 1 where a mark of deletion stood. */
static int clear_place(struct tree *tree, const char *name, struct error *err)
{
	struct stat st;

	if (fstatat(tree->parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail(name, err);
	if (sys_unlinkat(tree->parent_fd, name, 0) < 0)
		return fail(name, err);
	return overlay_is_whiteout(&st) ? 1 : 0;
}

static int give(const struct tree *tree, const char *name, const struct archive_item *item)
{
	if (!tree->keeps_owners)
		return 0;
	if (item->uid < 0 || item->gid < 0 || item->uid >= UINT32_MAX || item->gid >= UINT32_MAX) {
		errno = EINVAL;
		return -1;
	}
	return sys_fchownat(tree->parent_fd, name, (uid_t)item->uid, (gid_t)item->gid,
			    AT_SYMLINK_NOFOLLOW);
}

static struct timespec time_of(const struct archive_item *item)
{
	return (struct timespec){ .tv_sec = item->mtime_s, .tv_nsec = item->mtime_ns };
}

static void date_later(struct tree *tree, const char *path, const struct archive_item *item)
{
	if ((tree->dated_count & (tree->dated_count - 1)) == 0)
		tree->dated = xrealloc(tree->dated, tree->dated_count ? tree->dated_count * 2 : 1,
				       sizeof(tree->dated[0]));
	tree->dated[tree->dated_count++] = (struct dated){ xstrdup(path), time_of(item) };
}

/* The top is there already. */
static int put_directory(struct tree *tree, const char *path, const struct archive_item *item,
			 struct error *err)
{
	const char *name = *path ? enter(tree, path, err) : ".";
	owned(fd_close) int fd = -1;
	struct stat st;
	int was_deleted = 0;

	if (!name)
		return -1;
	if (!*path) {
		if (!enter(tree, "x", err))
			return -1;
	} else if (fstatat(tree->parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		   !S_ISDIR(st.st_mode)) {
		was_deleted = clear_place(tree, name, err);
		if (was_deleted < 0)
			return -1;
		if (sys_mkdirat(tree->parent_fd, name, 0700) < 0)
			return fail(path, err);
	}
	fd = sys_open_beneath(tree->parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (was_deleted && make_opaque(fd) < 0) || give(tree, name, item) < 0 ||
	    sys_fchmod(fd, (item->mode & 01777) | 0700) < 0)
		return fail(path, err);
	date_later(tree, path, item);
	return 0;
}

static int put_file(struct tree *tree, struct archive_in *in, const char *name,
		    const struct archive_item *item, struct error *err)
{
	static const struct archive_bounds bounds = { UNPACK_FILE_BYTES, UNPACK_ALL_BYTES,
						      UNPACK_RATIO };
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, time_of(item) };
	owned(fd_close) int fd = sys_openat(
		tree->parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fail(name, err);
	if (item->size > UNPACK_FILE_BYTES)
		return error_set(err, ERROR_INPUT, "a file of more than %llu GiB",
				 (unsigned long long)(UNPACK_FILE_BYTES >> 30));
	if (archive_in_save(in, fd, &bounds, err) < 0)
		return -1;
	tree->counts->bytes += item->size;
	tree->counts->set_ids += (item->mode & 06000) != 0;
	if (give(tree, name, item) < 0 || sys_fchmod(fd, item->mode & 0777) < 0 ||
	    futimens(fd, times) < 0)
		return fail(name, err);
	return 0;
}

static int put_symlink(struct tree *tree, const char *name, const struct archive_item *item,
		       struct error *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, time_of(item) };

	if (!item->link || !*item->link)
		return error_set(err, ERROR_INPUT, "a link that leads nowhere");
	if (sys_symlinkat(item->link, tree->parent_fd, name) < 0 || give(tree, name, item) < 0 ||
	    sys_utimensat(tree->parent_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(name, err);
	return 0;
}

/* A second name for a file of this archive, found as entries are: by plain directories. */
static int put_hard_link(struct tree *tree, const char *name, const struct archive_item *item,
			 struct error *err)
{
	owned(str_done) struct str target = STR_INIT;
	owned(free_ptr) char *parent = NULL;
	owned(fd_close) int fd = -1;
	const char *slash;
	struct stat st;

	if (clean(item->link, &target, err) < 0)
		return error_context(err, "a hard link");
	slash = strrchr(str_cstr(&target), '/');
	parent = xstrndup(str_cstr(&target), slash ? (size_t)(slash - target.data) : 0);
	fd = open_dir(tree, parent);
	slash = slash ? slash + 1 : str_cstr(&target);
	if (fd < 0 || fstatat(fd, slash, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, ERROR_INPUT,
				 "a hard link to a file that the archive has not");
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return error_set(err, ERROR_INPUT, "a hard link to something that is no file");
	return sys_linkat(fd, slash, tree->parent_fd, name, 0) < 0 ? fail(name, err) : 0;
}

static int put_entry(struct tree *tree, struct archive_in *in, const struct archive_item *item,
		     struct error *err)
{
	owned(str_done) struct str path = STR_INIT;
	const char *name;

	if (clean(item->path, &path, err) < 0)
		return -1;
	if (item->type == 'd')
		return put_directory(tree, str_cstr(&path), item, err);
	if (path.len == 0)
		return error_set(err, ERROR_INPUT, "its top is not a directory");
	if (item->type == 'c' || item->type == 'b' || item->type == 'p') {
		tree->counts->devices++;
		return 0;
	}
	name = enter(tree, str_cstr(&path), err);
	if (!name)
		return -1;
	if (str_starts(name, MARK))
		return put_mark(tree, name, err);
	/* A link to itself would remove what it leads to. */
	if (item->type == 'h' && item->link && strcmp(item->link, item->path) == 0)
		return 0;
	if (clear_place(tree, name, err) < 0)
		return -1;
	tree->counts->attributes += item->has_attributes;
	switch (item->type) {
	case 'l':
		return put_symlink(tree, name, item, err);
	case 'h':
		return put_hard_link(tree, name, item, err);
	default:
		return put_file(tree, in, name, item, err);
	}
}

/* From the last one on: a directory's time changes when something is made in it, but no more by now. */
static int set_dates(const struct tree *tree, struct error *err)
{
	for (size_t i = tree->dated_count; i-- > 0;) {
		const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
						   tree->dated[i].mtime };
		owned(fd_close) int fd = open_dir(tree, tree->dated[i].path);

		/* A later entry of that name may be something else. */
		if (fd >= 0 && futimens(fd, times) < 0)
			return fail(tree->dated[i].path, err);
	}
	return 0;
}

int unpack_entries(struct archive_in *in, int dir_fd, bool keeps_owners,
		   struct unpack_counts *counts, struct error *err)
{
	owned(tree_done) struct tree tree = { .root_fd = dir_fd,
					      .keeps_owners = keeps_owners,
					      .counts = counts,
					      .parent = STR_INIT,
					      .parent_fd = -1 };
	struct archive_item item;
	int more;

	while ((more = archive_in_next(in, &item, err)) > 0) {
		if (++counts->entries > UNPACK_ENTRIES_MAX)
			return error_set(err, ERROR_INPUT, "more than %u entries",
					 UNPACK_ENTRIES_MAX);
		if (put_entry(&tree, in, &item, err) < 0)
			return -1;
	}
	if (more < 0)
		return -1;
	if (counts->entries == 0)
		return error_set(err, ERROR_INPUT, "there is nothing in it");
	return set_dates(&tree, err);
}
