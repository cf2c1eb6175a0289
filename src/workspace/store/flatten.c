/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding a chain into one layer that shows the same on the same base.
 *
 * Layers are immutable, so files are shared by links; only directories are made anew. Whiteouts stay where something of
 * the base would show through, a directory is opaque where the chain cut it off from the base, and redirected where
 * the chain shows another directory of the base than its own path says.
 */
#include "workspace/store/flatten_parts.h"

#include "base/core/own.h"
#include "workspace/disk/copy_file.h"
#include "workspace/disk/delta_names.h"
#include "workspace/disk/overlay.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LISTING_SIZE (256u << 10)

struct folding {
	struct flat_unit unit;
	int out_fd;	       /* the unit's directory in the new layer */
	struct flat_dir *todo; /* made, but not filled yet */
	size_t count;
	struct delta_names names;
	char *listing;
};

static int open_out(const struct folding *folding, const char *path)
{
	return openat(folding->out_fd, *path ? path + 1 : ".",
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void push(struct folding *folding, struct flat_dir dir)
{
	if ((folding->count & (folding->count - 1)) == 0)
		folding->todo = xrealloc(folding->todo, folding->count ? folding->count * 2 : 1,
					 sizeof(folding->todo[0]));
	folding->todo[folding->count++] = dir;
}

/* How much of the entry at PATH is wanted. */
enum want { WANT_NONE, WANT_WAY, WANT_ALL };

/* WANT_WAY: a directory on the way to one that is. */
static enum want wants(const struct folding *folding, const char *path)
{
	const struct flat_only *only = folding->unit.only;
	enum want want = WANT_NONE;

	for (size_t i = 0; only && i < only->paths->count; i++) {
		const char *wanted = only->paths->items[i];
		size_t len = strlen(wanted), own = strlen(path);

		if (strncmp(path, wanted, len) == 0 && (path[len] == '/' || !path[len]))
			return only->skips(path, only->cookie) ? WANT_NONE : WANT_ALL;
		if (strncmp(wanted, path, own) == 0 && wanted[own] == '/')
			want = WANT_WAY;
	}
	return only ? want : WANT_ALL;
}

static enum want wants_entry(const struct folding *folding, const struct flat_dir *dir,
			     const char *name)
{
	owned(free_ptr) char *path =
		folding->unit.only ? xasprintf("%s/%s", dir->path, name) : NULL;

	return path ? wants(folding, path) : WANT_ALL;
}

/* Counts one more entry. Where only a part is wanted that is data: no device, socket or fifo. -1 with errno; 1: leave it out. */
static int count_entry(const struct folding *folding, const struct stat *st)
{
	struct flat_only *only = folding->unit.only;
	bool is_whiteout = S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);

	if (!only)
		return 0;
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode) && !is_whiteout)
		return 1;
	only->files += !S_ISDIR(st->st_mode) && !is_whiteout;
	only->bytes += S_ISREG(st->st_mode) ? (uint64_t)st->st_blocks * 512 : 0;
	if (only->files <= only->files_max && only->bytes <= only->bytes_max)
		return 0;
	errno = EFBIG;
	return -1;
}

/* An inode takes so many links and no more: then it gets a twin. */
static int copy_file(int from_dir, const char *name, const struct stat *st, int out_fd)
{
	owned(fd_close) int from = -1, to = -1;

	if (overlay_is_whiteout(st))
		return mknodat(out_fd, name, S_IFCHR, makedev(0, 0));
	if (!S_ISREG(st->st_mode)) {
		errno = EMLINK;
		return -1;
	}
	from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	to = openat(out_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (from < 0 || to < 0 || copy_content(from, to) < 0)
		return -1;
	return copy_attributes(from, st, to, NULL);
}

/* Marks explicitly that the base's directory at the same place shows through, which the kernel does not assume here. */
static int mark(const struct folding *folding, const struct flat_dir *parent,
		const struct flat_dir *dir, const char *name, int fd)
{
	owned(free_ptr) char *natural =
		parent->base ? xasprintf("%s/%s", parent->base, name) : NULL;
	char key[64];

	/* What leads to a part has to show the base beside it; what was moved here from elsewhere belongs to no part. */
	if (wants(folding, dir->path) == WANT_WAY)
		return 0;
	if (folding->unit.only && dir->base && (!natural || strcmp(dir->base, natural) != 0)) {
		folding->unit.only->moved = xstrdup(dir->path);
		errno = EXDEV;
		return -1;
	}
	if (!dir->base && natural)
		return fsetxattr(fd, overlay_mark_name(folding->unit.user_xattr, "opaque", key),
				 "y", 1, 0);
	if (dir->base && (!natural || strcmp(dir->base, natural) != 0))
		return fsetxattr(fd, overlay_mark_name(folding->unit.user_xattr, "redirect", key),
				 dir->base, strlen(dir->base), 0);
	return 0;
}

/* The directory is made at once, so that its parent is complete when its own times are set. */
static int fold_directory(struct folding *folding, const struct flat_dir *parent, size_t first,
			  const char *name, int out_fd)
{
	owned(flat_dir_done) struct flat_dir dir = { 0 };
	owned(fd_close) int fd = -1;

	if (flat_enter(&folding->unit, parent, first, name, &dir) < 0 ||
	    mkdirat(out_fd, name, 0700) < 0)
		return -1;
	fd = openat(out_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || mark(folding, parent, &dir, name, fd) < 0)
		return -1;
	push(folding, dir);
	dir = (struct flat_dir){ 0 };
	return 0;
}

/* Whether one inode may serve both; with errno as of a link that cannot be made. */
static bool is_shared(const struct folding *folding, const struct flat_source *from,
		      const struct stat *st)
{
	errno = EMLINK;
	return !S_ISREG(st->st_mode) || from->layer > 0 || !folding->unit.only ||
	       !folding->unit.only->copies_first;
}

static int fold_entry(struct folding *folding, const struct flat_dir *dir, size_t index, int out_fd)
{
	const char *name = delta_names_get(&folding->names, index);
	size_t first = folding->names.items[index].first;
	enum want want = wants_entry(folding, dir, name);
	int from_fd = dir->items[first].fd;
	struct stat st;

	if (want == WANT_NONE)
		return 0;
	if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	int counted = count_entry(folding, &st);

	if (counted != 0)
		return counted < 0 ? -1 : 0;
	if (S_ISDIR(st.st_mode))
		return fold_directory(folding, dir, first, name, out_fd);
	if (want == WANT_WAY)
		return 0;
	/* With nothing of the base below there is nothing to hide. */
	if (overlay_is_whiteout(&st) && !dir->base)
		return 0;
	if (is_shared(folding, &dir->items[first], &st) &&
	    linkat(from_fd, name, out_fd, name, 0) == 0)
		return 0;
	/* Across two projects of a quota, too. */
	return errno == EMLINK || errno == EXDEV ? copy_file(from_fd, name, &st, out_fd) : -1;
}

/* The host's directory at the place of one that only leads to what is wanted; -1 for others, or where the host has none. */
static int open_host(const struct folding *folding, const struct flat_dir *dir)
{
	const struct flat_only *only = folding->unit.only;
	owned(fd_close) int unit_fd = -1;

	if (!only || (*dir->path && wants(folding, dir->path) != WANT_WAY))
		return -1;
	unit_fd = open(only->unit_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (unit_fd < 0 || !*dir->path)
		return fd_take(&unit_fd);
	return sys_open_beneath(unit_fd, dir->path + 1, O_PATH | O_DIRECTORY);
}

/* Everything of the newest source but what the overlay wrote for itself. */
static int take_attributes(const struct folding *folding, const struct flat_dir *dir, int out_fd)
{
	char opaque[64], redirect[64], impure[64];
	const char *const skip[] = {
		overlay_mark_name(folding->unit.user_xattr, "opaque", opaque),
		overlay_mark_name(folding->unit.user_xattr, "redirect", redirect),
		overlay_mark_name(folding->unit.user_xattr, "impure", impure), NULL
	};
	owned(fd_close) int host_fd = open_host(folding, dir);
	int from_fd = host_fd >= 0 ? host_fd : dir->items[0].fd;
	struct stat st;

	if (fstat(from_fd, &st) < 0)
		return -1;
	/* A part of a unit is for later runs to use, whatever this one shut. */
	if (folding->unit.only)
		st.st_mode |= host_fd >= 0 ? 0500 : 0700;
	/* A plain user cannot give it to the host's owner, and owns the layer. */
	if (host_fd >= 0 && geteuid() != 0) {
		st.st_uid = geteuid();
		st.st_gid = getegid();
	}
	/* The way to what lies below it leads through it. */
	if (geteuid() != 0 && (st.st_mode & 0500) != 0500) {
		errno = EACCES;
		return -1;
	}
	return copy_attributes(from_fd, &st, out_fd, skip);
}

/* Fills DIR, whose sources are open. */
static int fill(struct folding *folding, const struct flat_dir *dir, int out_fd)
{
	delta_names_clear(&folding->names);
	for (size_t i = 0; i < dir->count; i++) {
		if (delta_names_list(&folding->names, dir->items[i].fd, (uint16_t)i,
				     folding->listing, LISTING_SIZE) < 0)
			return -1;
	}
	delta_names_sort(&folding->names);
	for (size_t i = 0; i < folding->names.count; i++) {
		if (fold_entry(folding, dir, i, out_fd) < 0)
			return -1;
	}
	return take_attributes(folding, dir, out_fd);
}

static int fold_next(struct folding *folding)
{
	owned(flat_dir_done) struct flat_dir dir = folding->todo[--folding->count];
	owned(fd_close) int out_fd = open_out(folding, dir.path);

	if (out_fd < 0 || flat_open(&folding->unit, &dir) < 0)
		return -1;
	return fill(folding, &dir, out_fd);
}

static int fold_all(struct folding *folding)
{
	struct flat_dir root;
	int result = 0;

	flat_root(&folding->unit, &root);
	push(folding, root);
	while (result == 0 && folding->count > 0)
		result = fold_next(folding);
	return result;
}

int flatten_unit(const struct flat_unit *unit, int out_fd)
{
	struct folding folding = { .unit = *unit,
				   .out_fd = out_fd,
				   .listing = xmalloc(LISTING_SIZE) };
	int result = fold_all(&folding);
	int errnum = errno;

	while (folding.count > 0)
		flat_dir_done(&folding.todo[--folding.count]);
	free(folding.todo);
	free(folding.listing);
	delta_names_done(&folding.names);
	errno = errnum;
	return result;
}
