/* SPDX-License-Identifier: Apache-2.0 */
/* Making a private copy of a workspace. */
#include "workspace/store/private_copy.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
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
#include <unistd.h>

#define PROGRESS_EVERY 512u
#define STAMP ".aisbx-copied"

/* An overlay's own: what the workspace has of them is no mark of ours. A capability belongs to the file that was given it. */
static const char *const left_out[] = {
	"user.overlay.opaque",	  "user.overlay.redirect",
	"user.overlay.origin",	  "user.overlay.impure",
	"user.overlay.nlink",	  "user.overlay.metacopy",
	"user.overlay.upper",	  "user.overlay.whiteout",
	"trusted.overlay.opaque", "trusted.overlay.redirect",
	"trusted.overlay.origin", "trusted.overlay.impure",
	"trusted.overlay.nlink",  "trusted.overlay.metacopy",
	"security.capability",	  NULL,
};

struct making {
	const struct private_copy_make *make;
	struct private_copy *copy;
};

static struct private_copy_entry *record(struct private_copy *copy, const char *path,
					 const struct stat *st)
{
	if (copy->count == copy->room) {
		copy->room = copy->room ? 2 * copy->room : 256;
		copy->items = xrealloc(copy->items, copy->room, sizeof(*copy->items));
	}
	copy->items[copy->count++] = (struct private_copy_entry){ .path = xstrdup(path),
								  .ino = st->st_ino,
								  .mode = st->st_mode };
	return &copy->items[copy->count - 1];
}

/* The copy's directory that relative PATH lies in; 0 where there is none. */
static uint64_t parent_ino(int to_fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	owned(free_ptr) char *above = slash ? xstrndup(path, (size_t)(slash - path)) : NULL;
	struct stat st;

	return fstatat(to_fd, above ? above : ".", &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_ino;
}

/* Owner, mode, times and attributes. A plain user's copy is the user's own, also of another's file. */
static int copy_metadata(const struct making *making, int from, const struct stat *st, int to)
{
	uint32_t shift = making->make->id_shift;
	struct stat wanted = *st, made;

	if (fstat(to, &made) < 0)
		return -1;
	wanted.st_uid = shift ? st->st_uid + shift : made.st_uid;
	wanted.st_gid = shift ? st->st_gid + shift : made.st_gid;
	return copy_attributes(from, &wanted, to, left_out);
}

static int copy_file(const struct making *making, const struct walk_entry *entry)
{
	struct stat st;
	owned(fd_close) int from = file_open(entry->dir_fd, entry->name, O_NOFOLLOW, &st);
	owned(fd_close) int to = -1;

	if (from < 0)
		return -1;
	to = openat(making->make->to_fd, entry->path,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0 || copy_content(from, to) < 0)
		return -1;
	making->copy->files++;
	making->copy->bytes += (uint64_t)st.st_size;
	return copy_metadata(making, from, &st, to);
}

/* A link or a fifo. */
static int copy_special(const struct making *making, const struct walk_entry *entry)
{
	owned(fd_close) int from =
		openat(entry->dir_fd, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	owned(fd_close) int to = -1;
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (from < 0 || fstat(from, &st) < 0)
		return -1;
	if (S_ISLNK(st.st_mode)) {
		len = readlinkat(from, "", target, sizeof(target) - 1);
		if (len < 0)
			return -1;
		target[len] = '\0';
		if (symlinkat(target, making->make->to_fd, entry->path) < 0)
			return -1;
	} else if (mkfifoat(making->make->to_fd, entry->path, 0600) < 0) {
		return -1;
	}
	to = openat(making->make->to_fd, entry->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return to < 0 ? -1 : copy_metadata(making, from, &st, to);
}

/* Attributes of a directory come last: what is put into it changes them, and they may close it. */
static int finish_directory(const struct making *making, const struct walk_entry *entry)
{
	owned(fd_close) int from =
		openat(entry->dir_fd, entry->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(fd_close) int to = openat(making->make->to_fd, entry->path,
					O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (from < 0)
		return errno == ENOENT ? 0 : -1;
	return to < 0 || fstat(from, &st) < 0 ? -1 : copy_metadata(making, from, &st, to);
}

/* 0, 1 where it is left out, -1 with errno. */
static int copy_one(struct making *making, const struct walk_entry *entry)
{
	mode_t mode = entry->st->stx_mode;

	if (S_ISDIR(mode))
		return mkdirat(making->make->to_fd, entry->path, 0700);
	if (S_ISREG(mode))
		return copy_file(making, entry);
	return S_ISLNK(mode) || S_ISFIFO(mode) ? copy_special(making, entry) : 1;
}

static void note_closed(const struct private_copy_make *make, struct private_copy *copy,
			struct private_copy_entry *item)
{
	struct stat st;

	copy->unread++;
	item->is_closed = true;
	item->ino = fstatat(make->to_fd, item->path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_ino;
}

static int visit(const struct walk_entry *entry, void *cookie)
{
	const struct private_copy_make *make = ((struct making *)cookie)->make;
	struct private_copy *copy = ((struct making *)cookie)->copy;
	int status;

	if (entry->is_leaving)
		return finish_directory(cookie, entry);
	if (make->shows && !make->shows(entry->path, make->cookie))
		return WALK_SKIP;
	status = copy_one(cookie, entry);
	/* Gone since it was listed, or not the caller's to read: the command does without it. */
	if (status < 0 && errno != ENOENT && errno != EACCES)
		return -1;
	if (status < 0 && errno == ENOENT)
		return WALK_SKIP;
	copy->unread += status < 0;
	if (make->progress && copy->count % PROGRESS_EVERY == PROGRESS_EVERY - 1)
		make->progress(copy->files, copy->bytes, make->cookie);
	struct private_copy_entry *item =
		record(copy, entry->path, &(struct stat){ .st_mode = entry->st->stx_mode });

	item->is_unseen = status != 0;
	if (item->is_unseen)
		item->ino = parent_ino(make->to_fd, entry->path);
	else if (S_ISDIR(item->mode) &&
		 faccessat(entry->dir_fd, entry->name, R_OK | X_OK, AT_EACCESS) < 0)
		note_closed(make, copy, item);
	return item->is_unseen || item->is_closed ? WALK_SKIP : 0;
}

int private_copy_make(const struct private_copy_make *make, struct private_copy *ret_copy,
		      struct error *err)
{
	struct making making = { make, ret_copy };
	struct walk walk = { .purpose = WALK_COPY, .visit = visit, .cookie = &making };
	struct walk_entry top = { .dir_fd = make->from_fd, .name = ".", .path = "." };

	ret_copy->id_shift = make->id_shift;
	if (walk_tree(&walk, make->from_fd, ".") < 0)
		return error_errno(err, ERROR_HOST, "cannot copy the workspace%s%s",
				   walk.failed_at[0] ? ": " : "", walk.failed_at);
	if (walk.missed & (WALK_CUT | WALK_FAILED))
		return error_set(err, ERROR_HOST, "cannot copy the workspace: %s", walk.failed_at);
	ret_copy->unread += (walk.missed & WALK_CLOSED) != 0;
	if (finish_directory(&making, &top) < 0)
		return error_errno(err, ERROR_HOST, "cannot copy the workspace");
	return 0;
}

struct laying {
	struct making making; /* first: copies as one does */
	bool user_xattr;
};

/* Room for an entry of a layer: what it hides goes. A directory that is merged stays. */
static int make_room(const struct laying *laying, const struct walk_entry *entry)
{
	int to_fd = laying->making.make->to_fd;
	owned(fd_close) int fd = -1;
	char value[REDIRECT_MAX];
	struct stat st;

	if (fstatat(to_fd, entry->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	if (S_ISDIR(entry->st->stx_mode) && S_ISDIR(st.st_mode)) {
		fd = openat(entry->dir_fd, entry->name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		enum overlay_below below =
			fd < 0 ? OVERLAY_UNKNOWN : overlay_read(fd, laying->user_xattr, value);

		if (below == OVERLAY_MERGED)
			return 1;
		/* Renamed by another driver: what it shows lies elsewhere. */
		if (below != OVERLAY_OPAQUE) {
			errno = EOPNOTSUPP;
			return -1;
		}
	}
	return tree_remove(to_fd, entry->path);
}

static int lay_entry(const struct walk_entry *entry, void *cookie)
{
	struct laying *laying = cookie;
	struct stat st = { .st_mode = entry->st->stx_mode,
			   .st_rdev =
				   makedev(entry->st->stx_rdev_major, entry->st->stx_rdev_minor) };

	if (entry->is_leaving)
		return finish_directory(&laying->making, entry);
	int room = make_room(laying, entry);

	if (room != 0 || overlay_is_whiteout(&st))
		return room < 0 ? -1 : 0;
	if (copy_one(&laying->making, entry) < 0)
		return -1;
	record(laying->making.copy, entry->path, &st);
	return 0;
}

int private_copy_lay(struct private_copy *copy, int to_fd, int unit_fd, bool user_xattr,
		     struct error *err)
{
	const struct private_copy_make make = { .to_fd = to_fd, .id_shift = copy->id_shift };
	struct laying laying = { { &make, copy }, user_xattr };
	struct walk walk = { .purpose = WALK_REPLACE, .visit = lay_entry, .cookie = &laying };

	if (walk_tree(&walk, unit_fd, ".") < 0)
		return error_errno(err, ERROR_HOST, "cannot copy what the sandbox holds%s%s",
				   walk.failed_at[0] ? ": " : "", walk.failed_at);
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct private_copy_entry *)a)->path,
		      ((const struct private_copy_entry *)b)->path);
}

/* Inode numbers are read at the end: a layer that was laid over may have replaced what was copied first. */
static int identify(struct private_copy *copy, int to_fd)
{
	size_t kept = 0;
	struct stat st;

	for (size_t i = 0; i < copy->count; i++) {
		struct private_copy_entry *item = &copy->items[i];
		bool is_there = fstatat(to_fd, item->path, &st, AT_SYMLINK_NOFOLLOW) == 0;

		if (!is_there && errno != ENOENT && errno != ENOTDIR)
			return -1;
		/* A layer may have replaced it, or the directory that it lies in. */
		if (item->is_unseen ? is_there || item->ino != parent_ino(to_fd, item->path)
				    : !is_there) {
			free(item->path);
			continue;
		}
		if (is_there) {
			item->is_closed = item->is_closed && item->ino == st.st_ino;
			item->ino = st.st_ino;
			item->mode = st.st_mode;
			item->uid = st.st_uid;
			item->gid = st.st_gid;
		}
		copy->items[kept++] = *item;
	}
	copy->count = kept;
	return 0;
}

/* By path. What a layer has replaced stands there twice. */
static void sort_once(struct private_copy *copy)
{
	size_t kept = 0;

	if (copy->count < 2)
		return;
	qsort(copy->items, copy->count, sizeof(*copy->items), compare_entries);
	for (size_t i = 1; i < copy->count; i++) {
		if (strcmp(copy->items[i].path, copy->items[kept].path) == 0) {
			copy->items[kept].is_closed |= copy->items[i].is_closed;
			free(copy->items[i].path);
		} else {
			copy->items[++kept] = copy->items[i];
		}
	}
	copy->count = kept + 1;
}

/* The directories above PATH, up to one that is marked already. */
static void mark_above(struct private_copy *copy, const char *path)
{
	owned(free_ptr) char *above = xstrdup(path);

	for (char *slash; (slash = strrchr(above, '/'));) {
		*slash = '\0';
		struct private_copy_entry *item = private_copy_find(copy, above);

		if (!item || item->holds_unseen)
			return;
		item->holds_unseen = true;
	}
}

static void mark_holders(struct private_copy *copy)
{
	for (size_t i = 0; i < copy->count; i++) {
		if (copy->items[i].is_unseen || copy->items[i].is_closed)
			mark_above(copy, copy->items[i].path);
		copy->items[i].holds_unseen |= copy->items[i].is_closed;
	}
}

static int compare_path(const void *path, const void *item)
{
	return strcmp(path, ((const struct private_copy_entry *)item)->path);
}

struct private_copy_entry *private_copy_find(const struct private_copy *copy, const char *path)
{
	return copy->count
		       ? bsearch(path, copy->items, copy->count, sizeof(*copy->items), compare_path)
		       : NULL;
}

int private_copy_settle(struct private_copy *copy, int to_fd, struct error *err)
{
	owned(fd_close) int fd = -1;
	struct stat st;

	if (identify(copy, to_fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at the copy");
	sort_once(copy);
	mark_holders(copy);
	/* The stamp of a file made now is not before that of any other here. */
	fd = openat(to_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0) {
		fd = openat(to_fd, STAMP, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			(void)unlinkat(to_fd, STAMP, 0);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "cannot finish the copy");
	copy->copied_ns = clock_ns_of(&st.st_ctim);
	copy->clock_offset_ns = clock_offset_ns();
	return 0;
}

void private_copy_done(struct private_copy *copy)
{
	for (size_t i = 0; i < copy->count; i++)
		free(copy->items[i].path);
	free(copy->items);
	*copy = (struct private_copy){ 0 };
}
