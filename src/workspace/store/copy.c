/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying a whole top while its writers are frozen.
 *
 * Payloads choose how deep it is, so the walk holds one directory of each side and goes back up by "..", looking
 * whether it came where it was before. Names of one inode are found again through a directory of links, one for each
 * inode that has several.
 */
#include "workspace/disk/copy_file.h"
#include "workspace/disk/overlay.h"
#include "workspace/store/copy.h"

#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/tree.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/layer_commit.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define LINKS ".links"

struct level {
	struct strv directories; /* still to be entered */
	size_t next;
	struct stat st; /* of the original */
	ino_t to_ino;
};

struct copying {
	int from_fd, to_fd; /* where the walk is */
	int links_fd;
	struct level *levels;
	size_t depth;
};

static void level_done(struct level *level)
{
	strv_done(&level->directories);
}

/* Its owner may have closed it to himself; then a plain user is not let in, unless it is opened up for the while. */
static bool is_closed(const struct stat *st)
{
	mode_t needed = S_ISDIR(st->st_mode) ? 0700 : 0400;

	return (st->st_mode & needed) != needed && geteuid() != 0 && st->st_uid == geteuid();
}

static int open_for_reading(int dir_fd, const char *name, int flags, const struct stat *st)
{
	if (is_closed(st) && fchmodat(dir_fd, name, (st->st_mode & 07777) | 0700, 0) < 0)
		return -1;
	return openat(dir_fd, name, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

static void close_again(int fd, const struct stat *st)
{
	if (is_closed(st))
		(void)fchmod(fd, st->st_mode & 07777);
}

static int copy_file(const struct copying *copying, const char *name, const struct stat *st)
{
	owned(fd_close) int from = open_for_reading(copying->from_fd, name, O_NOCTTY, st);
	owned(fd_close) int to = openat(copying->to_fd, name,
					O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (from < 0)
		return -1;
	close_again(from, st);
	if (to < 0 || copy_content(from, to) < 0)
		return -1;
	return copy_attributes(from, st, to, NULL);
}

static int copy_link(const struct copying *copying, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(copying->from_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return -1;
	target[len] = '\0';
	return symlinkat(target, copying->to_fd, name);
}

/* Anything that is neither a file nor a directory. */
static int copy_special(const struct copying *copying, const char *name, const struct stat *st)
{
	bool is_whiteout = overlay_is_whiteout(st);
	owned(fd_close) int from = -1, to = -1;

	if (S_ISLNK(st->st_mode)
		    ? copy_link(copying, name) < 0
		    : mknodat(copying->to_fd, name, st->st_mode & (S_IFMT | 0700), st->st_rdev) < 0)
		return -1;
	if (is_whiteout)
		return 0;
	from = openat(copying->from_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	to = openat(copying->to_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0 || to < 0)
		return -1;
	return copy_attributes(from, st, to, NULL);
}

/* Whether it was another name of something that is copied already; *ret_key is where the copy is found again. */
static bool link_known(const struct copying *copying, const char *name, const struct stat *st,
		       char ret_key[static 32])
{
	(void)snprintf(ret_key, 32, "%llu", (unsigned long long)st->st_ino);
	return linkat(copying->links_fd, ret_key, copying->to_fd, name, 0) == 0;
}

static int copy_entry(struct copying *copying, const char *name)
{
	bool is_shared;
	char key[32];
	struct stat st;

	if (fstatat(copying->from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISDIR(st.st_mode)) {
		strv_add(&copying->levels[copying->depth - 1].directories, name);
		return 0;
	}
	is_shared = st.st_nlink > 1 && !overlay_is_whiteout(&st);
	if (is_shared && link_known(copying, name, &st, key))
		return 0;
	if (S_ISREG(st.st_mode) ? copy_file(copying, name, &st) < 0
				: copy_special(copying, name, &st) < 0)
		return -1;
	return is_shared ? linkat(copying->to_fd, name, copying->links_fd, key, 0) : 0;
}

static int copy_entries(struct copying *copying)
{
	owned(dir_close) DIR *dir = dir_open(copying->from_fd, ".");
	struct dirent *entry;
	int result = 0, more = -1;

	while (result == 0 && (more = dir_next(dir, &entry)) > 0)
		result = copy_entry(copying, entry->d_name);
	return more < 0 ? -1 : result;
}

/* Steps into NAME on both sides, and copies all but the directories in it. */
static int enter(struct copying *copying, const char *name)
{
	owned(fd_close) int from = -1, to = -1;
	struct level level = { 0 };
	struct stat made;

	if (fstatat(copying->from_fd, name, &level.st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	from = open_for_reading(copying->from_fd, name, O_DIRECTORY, &level.st);
	if (from < 0 || mkdirat(copying->to_fd, name, 0700) < 0)
		return -1;
	to = openat(copying->to_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0 || fstat(to, &made) < 0)
		return -1;
	level.to_ino = made.st_ino;
	if ((copying->depth & (copying->depth - 1)) == 0)
		copying->levels = xrealloc(copying->levels, copying->depth ? copying->depth * 2 : 1,
					   sizeof(copying->levels[0]));
	copying->levels[copying->depth++] = level;
	fd_close(&copying->from_fd);
	fd_close(&copying->to_fd);
	copying->from_fd = fd_take(&from);
	copying->to_fd = fd_take(&to);
	return copy_entries(copying);
}

/* Up one level on one side. */
static int go_up(int *fd, ino_t expected)
{
	int up = openat(*fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	fd_close(fd);
	*fd = up;
	if (up < 0 || fstat(up, &st) < 0)
		return -1;
	if (expected && st.st_ino != expected) {
		errno = ESTALE;
		return -1;
	}
	return 0;
}

/* Attributes come last: what is put into a directory changes them, and they may close it. */
static int leave(struct copying *copying)
{
	struct level *level = &copying->levels[--copying->depth];
	const struct level *above = copying->depth > 0 ? level - 1 : NULL;
	owned(fd_close) int from = fcntl(copying->from_fd, F_DUPFD_CLOEXEC, 0);
	owned(fd_close) int to = fcntl(copying->to_fd, F_DUPFD_CLOEXEC, 0);
	int done = from < 0 || to < 0 ? -1 : 0;

	if (done == 0 && above)
		done = go_up(&copying->from_fd, above->st.st_ino) < 0 ||
				       go_up(&copying->to_fd, above->to_ino) < 0
			       ? -1
			       : 0;
	if (from >= 0)
		close_again(from, &level->st);
	if (done == 0)
		done = copy_attributes(from, &level->st, to, NULL);
	level_done(level);
	return done;
}

/* Copies directory NAME with all it holds. 0, or -1 with errno. */
static int copy_tree(int from_fd, const char *name, int to_fd, int links_fd)
{
	struct copying copying = { .from_fd = fcntl(from_fd, F_DUPFD_CLOEXEC, 0),
				   .to_fd = fcntl(to_fd, F_DUPFD_CLOEXEC, 0),
				   .links_fd = links_fd };
	int result = enter(&copying, name);

	while (result == 0 && copying.depth > 0) {
		struct level *level = &copying.levels[copying.depth - 1];

		if (level->next < level->directories.count)
			result = enter(&copying, level->directories.items[level->next++]);
		else
			result = leave(&copying);
	}
	while (copying.depth > 0)
		level_done(&copying.levels[--copying.depth]);
	free(copying.levels);
	fd_close(&copying.from_fd);
	fd_close(&copying.to_fd);
	return result;
}

/* A file beside the units; that it is not there is no error. */
static int copy_beside(int from_fd, int to_fd, const char *name)
{
	owned(fd_close) int from =
		openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	owned(fd_close) int to = -1;

	if (from < 0)
		return errno == ENOENT ? 0 : -1;
	to = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return to < 0 ? -1 : copy_content(from, to);
}

static int copy_units(int top_fd, int draft_fd, int links_fd)
{
	owned(dir_close) DIR *dir = dir_open(top_fd, ".");
	struct dirent *entry;
	int result = 0, more = -1;

	while (result == 0 && (more = dir_next(dir, &entry)) > 0) {
		if (str_starts(entry->d_name, "u-"))
			result = copy_tree(top_fd, entry->d_name, draft_fd, links_fd);
	}
	return more < 0 ? -1 : result;
}

static int fill_draft(const struct sandbox *sandbox, int draft_fd)
{
	owned(fd_close) int top_fd =
		openat(sandbox->dir_fd, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(fd_close) int links_fd = -1;

	if (top_fd < 0 || mkdirat(draft_fd, LINKS, 0700) < 0)
		return -1;
	links_fd = openat(draft_fd, LINKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (links_fd < 0 || copy_units(top_fd, draft_fd, links_fd) < 0 ||
	    copy_beside(top_fd, draft_fd, "units") < 0)
		return -1;
	return copy_beside(sandbox->dir_fd, draft_fd, "touched");
}

/* The supervisor that keeps the writers stopped has ended: others may have been started since, and written. */
static bool is_unguarded(const struct sandbox *sandbox)
{
	int state = sandbox->freeze_fd < 0 ? 0 : fd_wait(sandbox->freeze_fd, 0, 0);

	return state < 0 || (state & POLLHUP);
}

int copy_top(const struct sandbox *sandbox, const struct layer_meta *meta, struct error *err)
{
	const struct store *store = sandbox->store;
	char draft[LAYER_PATH_SIZE], place[LAYER_PATH_SIZE];
	owned(fd_close) int draft_fd = -1;
	struct error ignored = { .code = ERROR_NONE };

	(void)snprintf(draft, sizeof(draft), "layers/.new-%s", meta->id);
	(void)snprintf(place, sizeof(place), "layers/%s", meta->id);
	if (mkdirat(store->fd, draft, 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make a layer");
	draft_fd = openat(store->fd, draft, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (draft_fd < 0 || fill_draft(sandbox, draft_fd) < 0) {
		error_errno(err, ERROR_HOST, "cannot copy the top of '%s'", sandbox->name);
		goto failed;
	}
	if (is_unguarded(sandbox)) {
		error_advise(err, ERROR_CONFLICT, "try again",
			     "'%s' was stopped while it was copied", sandbox->name);
		goto failed;
	}
	if (tree_remove(draft_fd, LINKS) < 0) {
		error_errno(err, ERROR_HOST, "cannot finish a layer");
		goto failed;
	}
	if (renameat(store->fd, draft, store->fd, place) < 0) {
		error_errno(err, ERROR_HOST, "cannot name a layer");
		goto failed;
	}
	return layer_commit_write_layer(store, meta, err);
failed:
	(void)store_trash(store, store->fd, draft, &ignored);
	return -1;
}
