/* SPDX-License-Identifier: Apache-2.0 */
/* What a command changed in a private copy, moved into a layer; and a layer laid over such a copy. */
#include "workspace/store/private_copy.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/tree.h"
#include "base/file/walk.h"
#include "workspace/disk/copy_file.h"
#include "workspace/disk/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A clock that was set back by more makes stamps useless: then all files count as touched. */
#define CLOCK_STEP_NS 1000000

struct folding {
	struct private_copy *copy;
	int copy_fd, unit_fd;
	bool user_xattr;
	bool is_stepped; /* stamps cannot be compared */
	/* What stands where the host has something that the command could not see; "": nothing. */
	char refused[STR_SHOWN_SIZE];
};

/* The caller's own ids stand in layers. A change of owner takes set-id bits away. */
static int own_back(const struct folding *folding, int dir_fd, const char *name,
		    const struct statx *st)
{
	uint32_t shift = folding->copy->id_shift;

	if (!shift)
		return 0;
	if (fchownat(dir_fd, name, st->stx_uid >= shift ? st->stx_uid - shift : 0,
		     st->stx_gid >= shift ? st->stx_gid - shift : 0, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return st->stx_mode & (S_ISUID | S_ISGID) && !S_ISLNK(st->stx_mode)
		       ? fchmodat(dir_fd, name, st->stx_mode & 07777, 0)
		       : 0;
}

static int mark_opaque(const struct folding *folding, int fd)
{
	char key[64];

	return fsetxattr(fd, overlay_mark_name(folding->user_xattr, "opaque", key), "y", 1, 0);
}

/* Owner, mode and times of directory PATH of the copy, whose own mode is MODE, for the layer's. */
static int dress_directory(const struct folding *folding, const char *path, mode_t mode)
{
	owned(fd_close) int from =
		openat(folding->copy_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(fd_close) int to =
		openat(folding->unit_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint32_t shift = folding->copy->id_shift;
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) < 0)
		return -1;
	/* Its owner still has to put entries there. */
	st.st_mode = mode | 0700;
	st.st_uid -= shift && st.st_uid >= shift ? shift : 0;
	st.st_gid -= shift && st.st_gid >= shift ? shift : 0;
	return copy_attributes(from, &st, to, NULL);
}

static int make_directory(const struct folding *folding, const char *path)
{
	struct private_copy_entry *item = private_copy_find(folding->copy, path);
	bool is_open = item && item->is_open;

	if (item)
		item->is_open = true;
	if (mkdirat(folding->unit_fd, path, 0700) == 0)
		return item ? dress_directory(folding, path, item->mode) : 0;
	if (errno != EEXIST)
		return -1;
	/* One of an earlier command may be shut. */
	return item && !is_open ? fchmodat(folding->unit_fd, path, item->mode | 0700, 0) : 0;
}

/* The directories above PATH, in the layer. */
static int make_parents(const struct folding *folding, const char *path)
{
	owned(free_ptr) char *above = xstrdup(path);

	for (char *slash = strchr(above, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (make_directory(folding, above) < 0)
			return -1;
		*slash = '/';
	}
	return 0;
}

/* Makes room for PATH in the layer. 1 where something was there, 0, or -1 with errno. */
static int clear_place(const struct folding *folding, const char *path)
{
	struct stat st;

	if (make_parents(folding, path) < 0)
		return -1;
	if (fstatat(folding->unit_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	return tree_remove(folding->unit_fd, path) < 0 ? -1 : 1;
}

/* HIDES: something lies below the layer at this path. */
static int move(const struct folding *folding, const char *path, bool is_directory, bool hides)
{
	owned(fd_close) int fd = -1;
	int was_there = clear_place(folding, path);

	if (was_there < 0)
		return -1;
	/* Marked before it is moved: cut short, it would show what it has to hide. */
	if (is_directory && (hides || was_there)) {
		fd = openat(folding->copy_fd, path,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || mark_opaque(folding, fd) < 0)
			return -1;
	}
	return renameat(folding->copy_fd, path, folding->unit_fd, path);
}

static bool is_touched(const struct folding *folding, const struct private_copy_entry *item,
		       const struct statx *st)
{
	uint64_t ctime_ns = (uint64_t)st->stx_ctime.tv_sec * 1000000000u + st->stx_ctime.tv_nsec;

	return folding->is_stepped || item->ino != st->stx_ino ||
	       ctime_ns >= folding->copy->copied_ns;
}

/* A command may have shut its directories to itself, and so to a plain caller. */
static int open_up(const struct walk_entry *entry)
{
	mode_t mode = entry->st->stx_mode & 07777;

	return (mode & 0700) == 0700 || geteuid() == 0
		       ? 0
		       : fchmodat(entry->dir_fd, entry->name, mode | 0700, 0);
}

/* Whether the directory that PATH lies in is one that was copied: what lies in a new one is moved with that. */
static bool is_parent_same(const struct private_copy *copy, const char *path)
{
	const char *slash = strrchr(path, '/');
	owned(free_ptr) char *above = slash ? xstrndup(path, (size_t)(slash - path)) : NULL;
	const struct private_copy_entry *item = above ? private_copy_find(copy, above) : NULL;

	return !above || (item && item->is_same);
}

/* A new directory. Where what is in it needs other owners, it is entered first, and moved when it is left. */
static int visit_new(const struct folding *folding, const struct walk_entry *entry,
		     const struct private_copy_entry *item)
{
	if (open_up(entry) < 0)
		return -1;
	if (folding->copy->id_shift)
		return 0;
	if (move(folding, entry->path, true, item != NULL) < 0 ||
	    fchmodat(folding->unit_fd, entry->path, entry->st->stx_mode & 07777, 0) < 0)
		return -1;
	return WALK_SKIP;
}

static int visit_directory(const struct folding *folding, const struct walk_entry *entry,
			   struct private_copy_entry *item)
{
	/* One that was made anew does not hide what the other one holds unseen. */
	if (!item || !S_ISDIR(item->mode) ||
	    (item->ino != entry->st->stx_ino && !item->holds_unseen))
		return visit_new(folding, entry, item);
	item->is_same = true;
	bool is_changed = (item->mode & 07777) != (entry->st->stx_mode & 07777);

	item->mode = entry->st->stx_mode;
	if (open_up(entry) < 0)
		return -1;
	if (!is_changed)
		return 0;
	if (make_parents(folding, entry->path) < 0 || make_directory(folding, entry->path) < 0)
		return -1;
	return dress_directory(folding, entry->path, item->mode);
}

static int leave(const struct folding *folding, const struct walk_entry *entry, bool is_in_new)
{
	const struct private_copy_entry *item = private_copy_find(folding->copy, entry->path);

	if (!is_in_new && item && item->is_same)
		return 0;
	if (own_back(folding, entry->dir_fd, entry->name, entry->st) < 0)
		return -1;
	return is_in_new ? 0 : move(folding, entry->path, true, item != NULL);
}

static int visit(const struct walk_entry *entry, void *cookie)
{
	struct folding *folding = cookie;
	bool is_directory = S_ISDIR(entry->st->stx_mode);
	bool is_in_new = !is_parent_same(folding->copy, entry->path);

	if (entry->is_leaving)
		return leave(folding, entry, is_in_new);
	if (is_in_new)
		return is_directory ? open_up(entry)
				    : own_back(folding, entry->dir_fd, entry->name, entry->st);
	struct private_copy_entry *item = private_copy_find(folding->copy, entry->path);

	if (item)
		item->is_seen = true;
	if (S_ISSOCK(entry->st->stx_mode))
		return 0;
	if (item && (item->is_unseen || (item->holds_unseen && !is_directory))) {
		(void)str_shown(entry->path, folding->refused);
		errno = EEXIST;
		return -1;
	}
	if (is_directory)
		return visit_directory(folding, entry, item);
	if (item && !is_touched(folding, item, entry->st))
		return 0;
	return own_back(folding, entry->dir_fd, entry->name, entry->st) < 0
		       ? -1
		       : move(folding, entry->path, false, false);
}

/* A directory that is gone from the copy stays, with what it holds unseen: made anew there for what is above whiteouts. */
static int restore_directory(const struct folding *folding, struct private_copy_entry *item)
{
	item->is_seen = item->is_same = true;
	folding->copy->stayed++;
	if (mkdirat(folding->copy_fd, item->path, 0700) < 0 ||
	    (folding->copy->id_shift &&
	     fchownat(folding->copy_fd, item->path, item->uid, item->gid, AT_SYMLINK_NOFOLLOW) < 0))
		return -1;
	return 0;
}

static int white_out_missing(const struct folding *folding)
{
	const struct private_copy *copy = folding->copy;

	for (size_t i = 0; i < copy->count; i++) {
		struct private_copy_entry *item = &copy->items[i];

		if (item->is_seen || item->is_unseen || !is_parent_same(copy, item->path))
			continue;
		if (item->holds_unseen) {
			if (restore_directory(folding, item) < 0)
				return -1;
			continue;
		}
		if (clear_place(folding, item->path) < 0 ||
		    mknodat(folding->unit_fd, item->path, S_IFCHR, makedev(0, 0)) < 0)
			return -1;
	}
	return 0;
}

/* The modes of the layer's directories, the deepest first. */
static int close_directories(const struct folding *folding)
{
	const struct private_copy *copy = folding->copy;

	for (size_t i = copy->count; i-- > 0;) {
		const struct private_copy_entry *item = &copy->items[i];

		if (item->is_open &&
		    fchmodat(folding->unit_fd, item->path, item->mode & 07777, 0) < 0)
			return -1;
	}
	return 0;
}

int private_copy_fold(struct private_copy *copy, int copy_fd, int unit_fd, bool user_xattr,
		      struct error *err)
{
	int64_t back = copy->clock_offset_ns - clock_offset_ns();
	struct folding folding = { .copy = copy,
				   .copy_fd = copy_fd,
				   .unit_fd = unit_fd,
				   .user_xattr = user_xattr,
				   .is_stepped = back > CLOCK_STEP_NS };
	struct walk walk = { .purpose = WALK_REPLACE, .visit = visit, .cookie = &folding };
	int status = walk_tree(&walk, copy_fd, ".");

	if (status == 0)
		status = white_out_missing(&folding);
	if (status == 0)
		status = close_directories(&folding);
	if (status < 0 && folding.refused[0])
		error_set(err, ERROR_CONFLICT,
			  "'%s' takes the place of a socket, a device or something unreadable of "
			  "the host",
			  folding.refused);
	else if (status < 0)
		error_errno(err, ERROR_HOST, "what it changed cannot be kept%s%s",
			    walk.failed_at[0] ? ": " : "", walk.failed_at);
	return status;
}
