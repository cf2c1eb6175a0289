/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox changed: walking the writable layer of an overlay.
 *
 * A whiteout (character device 0:0) is a deletion; an opaque directory hides the host's of that name; a redirect names
 * where a renamed directory came from. Everything else in the layer is a file that was made or copied up. The walk keeps
 * descriptors of each level, on both sides, so its depth is bounded by us and not by the payload, and paths are for
 * showing only.
 */
#include "workspace/delta/change.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/delta/bound.h"
#include "workspace/delta/compare.h"
#include "workspace/disk/lower.h"
#include "workspace/disk/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_MAX 10000u

/* What the host has for the present directory of the layer. */
struct level {
	int host_fd;   /* its directory of the same path; -1: none */
	int origin_fd; /* its directory that was renamed to be this one; -1: none */
	bool is_moved; /* this, or one above it, was renamed */
	bool is_cut;   /* nothing of the host's shows here: this, or one above it, is opaque */
};

struct layer_walk {
	struct change_scan *scan;
	int root_fd;
	struct level level;
	char path[PATH_MAX]; /* below the layer, without a leading slash */
	size_t len;
	unsigned depth;
	/* Of the present entry. Here, since hundreds of levels would not fit on a small stack. */
	char shown[PATH_MAX], redirect[REDIRECT_MAX];
};

/* Places that are made anew in every sandbox are no change. */
static bool is_scratch(const char *path)
{
	static const char *const places[] = { "/tmp", "/run", "/var/tmp", "/dev", "/proc", "/sys" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t len = strlen(places[i]);

		if (strncmp(path, places[i], len) == 0 && (path[len] == '/' || path[len] == '\0'))
			return true;
	}
	return false;
}

static const char *below_workspace(const struct change_scan *scan, const char *path)
{
	size_t len = scan->workspace ? strlen(scan->workspace) : 0;

	if (len == 0 || strncmp(path, scan->workspace, len) != 0 || path[len] != '/')
		return NULL;
	return path + len + 1;
}

/* The path under which the present entry is counted. */
static int shown_path(const struct layer_walk *walk, char out[PATH_MAX])
{
	const char *lower = walk->scan->lower;
	int len = snprintf(out, PATH_MAX, "%s%s%s", strcmp(lower, "/") == 0 ? "" : lower,
			   walk->len ? "/" : "", walk->path);

	if (len > 0 && len < PATH_MAX)
		return 0;
	walk->scan->is_partial = true;
	return -1;
}

static void count(struct layer_walk *walk, char letter, const char *path)
{
	struct change_scan *scan = walk->scan;
	const char *relative = below_workspace(scan, path);
	struct change_tally *tally = relative ? &scan->inside : &scan->outside;

	if (!relative && is_scratch(path))
		return;
	/* A directory made where a hidden one is replaces it in the layer, and deletes nothing. */
	if (letter == 'D' && scan->shows && !scan->shows(scan->cookie, path))
		return;
	if (letter == 'A')
		tally->added++;
	else if (letter == 'M')
		tally->modified++;
	else
		tally->deleted++;
	if (scan->list && scan->list->count < LIST_MAX)
		strv_addf(scan->list, "%c\t%s", letter, relative ? relative : path);
	else if (scan->list)
		scan->is_partial = true;
}

static uint64_t counted(const struct change_scan *scan)
{
	const struct change_tally *in = &scan->inside, *out = &scan->outside;

	return in->added + in->modified + in->deleted + out->added + out->modified + out->deleted;
}

/* A directory counts by itself when nothing in it did; outside the workspace places to mount on are made, so not there. */
static void count_empty(struct layer_walk *walk, char letter, const char *path)
{
	owned(free_ptr) char *marked = xasprintf("%s/", path);

	if (below_workspace(walk->scan, path))
		count(walk, letter, marked);
}

/* A path that names are put behind and taken off again. */
struct growing {
	char text[PATH_MAX];
	size_t len;
};

static bool grow(struct growing *path, const char *name)
{
	int used = snprintf(path->text + path->len, PATH_MAX - path->len, "/%s", name);

	if (used < 0 || (size_t)used >= PATH_MAX - path->len) {
		path->text[path->len] = '\0';
		return false;
	}
	path->len += (size_t)used;
	return true;
}

static void cut(struct growing *path, size_t len)
{
	path->len = len;
	path->text[len] = '\0';
}

static void set(struct growing *path, const char *text)
{
	path->len = 0;
	int used = snprintf(path->text, PATH_MAX, "%s", text);

	path->len = used < PATH_MAX ? (size_t)used : PATH_MAX - 1;
}

/* Files of the host that are counted, and the paths they are counted as. */
struct host_tree {
	struct layer_walk *walk;
	char letter;
	struct growing shown;
	unsigned depth;
};

static void count_host_directory(struct host_tree *tree, int fd, int mentioned_fd);

/* The kind in the list is enough for anything but a directory. */
static void count_host_entry(struct host_tree *tree, int dir_fd, const struct dirent *entry)
{
	bool is_plain = entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN;
	struct stat st = { .st_mode = S_IFREG };
	owned(fd_close) int fd = is_plain ? -1 : lower_open(dir_fd, entry->d_name, &st);
	size_t before = tree->shown.len;

	if (!is_plain && fd < 0)
		return;
	if (!grow(&tree->shown, entry->d_name)) {
		tree->walk->scan->is_partial = true;
		return;
	}
	if (S_ISDIR(st.st_mode))
		count_host_directory(tree, fd, -1);
	else
		count(tree->walk, tree->letter, tree->shown.text);
	cut(&tree->shown, before);
}

/* Counts every file below a directory of the host; of its own entries those that MENTIONED_FD has not. */
static void count_host_directory(struct host_tree *tree, int fd, int mentioned_fd)
{
	struct change_scan *scan = tree->walk->scan;
	owned(dir_close) DIR *dir = tree->depth < WALK_DEPTH_MAX ? dir_open(fd, ".") : NULL;
	uint64_t before = counted(scan);
	struct dirent *entry;

	if (!dir) {
		/* What may not be listed was not listed inside either. */
		scan->is_partial |= tree->depth >= WALK_DEPTH_MAX || errno != EACCES;
		return;
	}
	tree->depth++;
	while (dir_next(dir, &entry) > 0) {
		if (!bound_entry(scan))
			break;
		if (mentioned_fd < 0 ||
		    faccessat(mentioned_fd, entry->d_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			count_host_entry(tree, dirfd(dir), entry);
	}
	tree->depth--;
	if (mentioned_fd < 0 && counted(scan) == before)
		count_empty(tree->walk, tree->letter, tree->shown.text);
}

/*
 * Counts what lies in directory FD of the host, under the names below SHOWN, and is not mentioned in directory
 * MENTIONED_FD of the layer (-1: all of it): removed or hidden ('D'), or come along with a renamed one ('A').
 */
static void count_host(struct layer_walk *walk, char letter, int fd, int mentioned_fd,
		       const char *shown)
{
	owned(free_ptr) struct host_tree *tree = NULL;

	if (fd < 0)
		return;
	tree = xcalloc(1, sizeof(*tree));
	tree->walk = walk;
	tree->letter = letter;
	set(&tree->shown, shown);
	count_host_directory(tree, fd, mentioned_fd);
}

static void look_at_file(struct layer_walk *walk, int dir_fd, const char *name,
			 const struct stat *upper)
{
	bool is_whiteout = overlay_is_whiteout(upper);
	struct stat lower = { 0 };
	char *path = walk->shown;

	if (shown_path(walk, path) < 0)
		return;
	owned(fd_close) int host_fd = lower_open(walk->level.host_fd, name, &lower);
	struct compare_file ours = { dir_fd, name, upper };
	struct compare_file theirs = { walk->level.host_fd, name, &lower };

	if (host_fd >= 0 && S_ISDIR(lower.st_mode)) {
		count_host(walk, 'D', host_fd, -1, path);
		fd_close(&host_fd);
	}
	if (is_whiteout && host_fd >= 0)
		count(walk, 'D', path);
	else if (!is_whiteout && host_fd < 0)
		count(walk, 'A', path);
	else if (!is_whiteout && !compare_is_equal(walk->scan, &ours, &theirs))
		count(walk, 'M', path);
}

/* Where the host has a directory that was renamed to VALUE, or lies in a renamed one (NULL). */
static void find_origin(struct layer_walk *walk, const char *value, const char *name,
			struct level *level)
{
	const struct level *outer = &walk->level;
	int beside_fd = outer->is_moved ? outer->origin_fd : outer->host_fd;

	level->is_moved = value || outer->is_moved;
	/* A name alone stands for one beside it. */
	if (value)
		level->origin_fd = value[0] == '/' ? lower_open_path(walk->root_fd, value)
						   : lower_open_directory(beside_fd, value);
	else if (outer->is_moved)
		level->origin_fd = lower_open_directory(outer->origin_fd, name);
	/* Only the topmost of new directories is marked opaque; a renamed one shows where it came from again. */
	if (level->is_moved)
		level->is_cut = false;
}

/* The level of directory FD of the layer; what it hides of the host's, and what it brought along, is counted. */
static struct level enter_level(struct layer_walk *walk, int fd, const char *name)
{
	struct level level = { -1, -1, false, walk->level.is_cut };
	char *path = walk->shown;
	struct stat st;

	if (shown_path(walk, path) < 0)
		return level;
	level.host_fd = lower_open(walk->level.host_fd, name, &st);
	if (level.host_fd >= 0 && !S_ISDIR(st.st_mode)) {
		count(walk, 'D', path);
		fd_close(&level.host_fd);
	}
	enum overlay_below below = overlay_read(fd, walk->scan->user_xattr, walk->redirect);

	/* A plain user's layer has no redirect; what stands there would be the payload's, and changes nothing. */
	if (below == OVERLAY_OPAQUE || (below == OVERLAY_FORGED && !walk->scan->user_xattr))
		level.is_cut = true;
	else
		find_origin(walk, below == OVERLAY_REDIRECT ? walk->redirect : NULL, name, &level);
	if (level.is_cut || level.is_moved)
		count_host(walk, 'D', level.host_fd, fd, path);
	count_host(walk, 'A', level.origin_fd, fd, path);
	return level;
}

static void walk_directory(struct layer_walk *walk, int fd);

static void enter_directory(struct layer_walk *walk, int dir_fd, const char *name)
{
	struct level outer = walk->level;
	uint64_t before = counted(walk->scan);
	int fd = -1;

	if (walk->depth < WALK_DEPTH_MAX)
		fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		walk->scan->is_partial = true;
		return;
	}
	walk->level = enter_level(walk, fd, name);
	walk->depth++;
	walk_directory(walk, fd);
	walk->depth--;
	if (walk->level.host_fd < 0 && counted(walk->scan) == before &&
	    shown_path(walk, walk->shown) == 0)
		count_empty(walk, 'A', walk->shown);
	fd_close(&walk->level.host_fd);
	fd_close(&walk->level.origin_fd);
	walk->level = outer;
}

static void note_time(struct change_scan *scan, const struct stat *st)
{
	uint64_t changed_ns =
		(uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;

	if (changed_ns > scan->newest_ns)
		scan->newest_ns = changed_ns;
}

static void look_at(struct layer_walk *walk, int dir_fd, const char *name)
{
	size_t before = walk->len;
	int used =
		snprintf(walk->path + before, PATH_MAX - before, "%s%s", before ? "/" : "", name);
	struct stat st;

	if (used < 0 || (size_t)used >= PATH_MAX - before) {
		walk->scan->is_partial = true;
	} else if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		walk->len += (size_t)used;
		note_time(walk->scan, &st);
		if (S_ISDIR(st.st_mode))
			enter_directory(walk, dir_fd, name);
		else
			look_at_file(walk, dir_fd, name, &st);
	}
	walk->len = before;
	walk->path[before] = '\0';
}

/* Takes FD over. */
static void walk_directory(struct layer_walk *walk, int fd)
{
	owned(dir_close) DIR *dir = dir_take(&fd);
	struct dirent *entry;

	if (!dir) {
		fd_close(&fd);
		walk->scan->is_partial = true;
		return;
	}
	while (dir_next(dir, &entry) > 0) {
		if (!bound_entry(walk->scan))
			break;
		look_at(walk, dirfd(dir), entry->d_name);
	}
}

void change_scan_layer(struct change_scan *scan, int upper_fd)
{
	struct layer_walk *walk = xcalloc(1, sizeof(*walk));

	bound_start(scan);
	walk->scan = scan;
	walk->root_fd = lower_open_root(scan->lower);
	/* Below a workspace that was made for the sandbox there is nothing to compare with. */
	if (walk->root_fd < 0 && errno != ENOENT)
		scan->is_partial = true;
	walk->level = (struct level){ .host_fd = walk->root_fd, .origin_fd = -1 };
	walk_directory(walk, fcntl(upper_fd, F_DUPFD_CLOEXEC, 0));
	fd_close(&walk->root_fd);
	free(walk);
}
