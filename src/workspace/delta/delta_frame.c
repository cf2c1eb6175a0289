/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories above the one being compared.
 *
 * A payload chooses how deep a tree is, so the walk keeps a stack of its own, and only the last of its directories stay
 * open. On the way back one that was put away is reached again from the one below it, by "..", and must be the same.
 */
#include "base/core/own.h"
#include "workspace/delta/delta_parts.h"
#include "workspace/disk/lower.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define OPEN_MAX_FDS 256u

/* Half of what we may have: the caller has some, too. */
static size_t open_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 > OPEN_MAX_FDS)
		return OPEN_MAX_FDS;
	return (size_t)limit.rlim_cur / 2;
}

static size_t count_open(const struct view_dir *dir)
{
	size_t count = 0;

	for (size_t i = 0; i < dir->count; i++)
		count += dir->items[i].fd >= 0;
	return count;
}

static void put_away(struct delta_walk *walk, struct view_dir *dir)
{
	walk->open_fds -= count_open(dir);
	for (size_t i = 0; i < dir->count; i++)
		fd_close(&dir->items[i].fd);
}

struct delta_frame *delta_frame_push(struct delta_walk *walk, struct delta_frame *frame)
{
	if (walk->depth == walk->capacity) {
		walk->capacity = walk->capacity ? walk->capacity * 2 : 64;
		walk->open_max = open_max();
		walk->frames = xrealloc(walk->frames, walk->capacity, sizeof(*walk->frames));
	}
	walk->frames[walk->depth++] = *frame;
	walk->open_fds += count_open(&frame->new) + count_open(&frame->old);
	*frame = (struct delta_frame){ 0 };
	/* The two on top always stay: with the deepest chain of layers these are some 200. */
	while (walk->open_fds > walk->open_max && walk->stored + 2 < walk->depth) {
		struct delta_frame *bottom = &walk->frames[walk->stored++];

		put_away(walk, &bottom->new);
		put_away(walk, &bottom->old);
	}
	return &walk->frames[walk->depth - 1];
}

const struct view_dir *delta_frame_old(const struct delta_frame *frame, struct view_dir *tail)
{
	if (!frame->is_shared)
		return &frame->old;
	*tail = (struct view_dir){ frame->new.items + frame->split,
				   frame->new.count - frame->split };
	return tail;
}

/* Directory PATH below the unit's directory FD; longer paths than the kernel takes go in pieces. */
static int open_long(int fd, const char *path, size_t len)
{
	owned(fd_close) int at = lower_open_directory(fd, ".");

	for (size_t done = 0; at >= 0 && done < len;) {
		size_t next = done + 1;

		while (next < len && path[next] != '/')
			next++;
		owned(free_ptr) char *name = xstrndup(path + done + 1, next - done - 1);
		int below = lower_open_directory(at, name);

		fd_close(&at);
		at = below;
		done = next;
	}
	return fd_take(&at);
}

static bool is_same(int fd, const struct view_source *source)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == source->dev &&
	       st.st_ino == source->ino;
}

/* The one of BELOW that was found in the source with INDEX. */
static int open_from_below(const struct view_dir *below, size_t index)
{
	for (size_t i = 0; i < below->count; i++)
		if (below->items[i].parent == index && below->items[i].fd >= 0)
			return openat(below->items[i].fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return -1;
}

static int reopen(struct delta_walk *walk, struct view_source *source, const struct view_dir *below,
		  size_t index)
{
	const struct view_dir *roots = &walk->root.dir;
	owned(fd_close) int fd = open_from_below(below, index);

	for (size_t i = 0; i < roots->count && !is_same(fd, source); i++) {
		if (roots->items[i].layer != source->layer)
			continue;
		fd_close(&fd);
		fd = open_long(roots->items[i].fd, source->path->text.data, source->len);
	}
	if (!is_same(fd, source)) {
		errno = ESTALE;
		return -1;
	}
	source->fd = fd_take(&fd);
	walk->open_fds++;
	return 0;
}

static int reopen_all(struct delta_walk *walk, struct view_dir *dir, const struct view_dir *below)
{
	for (size_t i = 0; i < dir->count; i++)
		if (dir->items[i].fd < 0 && reopen(walk, &dir->items[i], below, i) < 0)
			return -1;
	return 0;
}

static void path_done(struct view_path *path)
{
	if (path && --path->users == 0) {
		str_done(&path->text);
		free(path);
	}
}

int delta_frame_pop(struct delta_walk *walk)
{
	struct delta_frame *frame = &walk->frames[walk->depth - 1];
	int status = 0;

	if (walk->depth > 1 && walk->stored >= walk->depth - 1) {
		struct delta_frame *above = frame - 1;

		walk->stored = walk->depth - 2;
		status = reopen_all(walk, &above->new, &frame->new);
		if (status == 0)
			status = reopen_all(walk, &above->old, &frame->old);
		/* It was moved while a running sandbox still writes: the rest of it stays unknown. */
		if (status < 0)
			above->next = above->below.count;
	}
	walk->open_fds -= count_open(&frame->new) + count_open(&frame->old);
	view_dir_done(&frame->new);
	view_dir_done(&frame->old);
	path_done(frame->old_path);
	delta_names_done(&frame->below);
	walk->depth--;
	return status;
}
