/* SPDX-License-Identifier: Apache-2.0 */
/* Where a walk starts: at a unit's directory, and at old directories that are gone or hidden. */
#include "base/core/own.h"
#include "workspace/delta/delta_unseen.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct view_path *new_path(const char *text)
{
	struct view_path *path = xcalloc(1, sizeof(*path));

	str_add(&path->text, text);
	path->users = 1;
	return path;
}

static int copy_roots(const struct view_root *root, struct view_dir *ret_dir)
{
	ret_dir->items = xcalloc(root->dir.count + 1, sizeof(*ret_dir->items));
	for (size_t i = 0; i < root->dir.count; i++) {
		struct view_source *source = &ret_dir->items[ret_dir->count++];

		*source = root->dir.items[i];
		source->fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
		source->path->users++;
		if (source->fd < 0) {
			view_dir_done(ret_dir);
			return -1;
		}
	}
	return 0;
}

/*
 * The unit's own directory: its attributes are the topmost layer's. A plain user cannot give that one the base's owner, so
 * there they say nothing.
 */
static void compare_roots(struct delta_walk *walk, const struct delta_frame *frame)
{
	const struct view_source *sources = frame->new.items;
	struct view_stat new_stat = { 0 }, old_stat = { 0 };
	struct delta_object new = { .at = sources, .name = ".", .stat = &new_stat };
	struct delta_object old = { .at = sources + frame->split, .name = ".", .stat = &old_stat };

	if (!walk->stack->user_xattr[sources->layer] && frame->split < frame->new.count &&
	    fstat(new.at->fd, &new_stat.st) == 0 && fstat(old.at->fd, &old_stat.st) == 0)
		delta_add_both(walk, frame, &new, &old);
}

int delta_walk_root(struct delta_walk *walk)
{
	const char *unit = walk->root.unit->path;
	struct delta_frame frame = { .is_shared = true };

	if (copy_roots(&walk->root, &frame.new) < 0)
		return delta_fail(walk);
	while (frame.split < frame.new.count &&
	       frame.new.items[frame.split].layer < walk->options->old_from)
		frame.split++;
	if (frame.split == 0) {
		view_dir_done(&frame.new);
		return 0;
	}
	str_clear(&walk->path);
	str_add(&walk->path, unit[1] ? unit : "");
	frame.old_path = new_path(walk->path.data);
	frame.old_len = walk->path.len;
	compare_roots(walk, &frame);
	return delta_walk_enter(walk, &frame);
}

bool delta_add_gone(struct delta_walk *walk, const struct delta_object *old)
{
	if (path_set_has(&walk->moved, walk->path.data))
		return false;
	if (walk->options->expand)
		delta_add(walk, &(struct delta_found){ .op = DELTA_DELETED,
						       .path = walk->path.data,
						       .old = *old });
	return true;
}

/* Directory PATH of the older point is gone, or only what was in it. */
static int walk_gone(struct delta_walk *walk, const char *path, bool is_replaced)
{
	const char *unit = walk->root.unit->path;
	owned(view_place_done) struct view_place place = { 0 };
	struct delta_frame frame = { 0 };

	if (view_find(&walk->root, walk->options->old_from, path + (unit[1] ? strlen(unit) : 0),
		      &place) < 0)
		return delta_fail(walk);
	str_clear(&walk->path);
	str_add(&walk->path, path);
	struct delta_object old = { .name = place.name, .stat = &place.found.stat };

	if (!place.found.exists)
		return 0;
	if (!is_replaced) {
		int was_absent = delta_was_absent(walk, path);

		/* Made and removed inside, and the host made one of its own. */
		if (was_absent)
			return was_absent < 0 ? -1 : 0;
	}
	old.at = &place.outer.items[place.found.where];
	if (!is_replaced && !delta_add_gone(walk, &old))
		return 0;
	frame.old = place.found.dir;
	place.found.dir = (struct view_dir){ 0 };
	frame.old_path = new_path(path);
	frame.old_len = strlen(path);
	if (delta_walk_enter(walk, &frame) < 0)
		return -1;
	return delta_walk_rest(walk);
}

int delta_walk_hidden(struct delta_walk *walk)
{
	int status = 0;

	walk->is_hidden = true;
	for (size_t i = 0; i < walk->gone.count && status == 0; i++)
		status = walk_gone(walk, walk->gone.items[i], false);
	for (size_t i = 0; i < walk->replaced.count && status == 0; i++)
		status = walk_gone(walk, walk->replaced.items[i], true);
	walk->is_hidden = false;
	return status;
}
