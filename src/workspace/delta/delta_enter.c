/* SPDX-License-Identifier: Apache-2.0 */
/* From a directory being compared to one below it: what became of it as a whole, and what there is to compare in it. */
#include "base/core/own.h"
#include "workspace/delta/delta_unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>

/* A directory of both points, being entered. */
struct entering {
	const struct delta_frame *above;
	char name[NAME_MAX + 1];
	struct view_found new, old; /* with is_shared `old.dir` is not filled */
	size_t split;
	bool is_shared, is_unseen;
	char *moved_from; /* absolute old path, when it was renamed */
};

static void entering_done(struct entering *at)
{
	view_found_done(&at->new);
	view_found_done(&at->old);
	free(at->moved_from);
}

static size_t find_split(const struct view_dir *dir, size_t layer)
{
	size_t at = 0;

	while (at < dir->count && dir->items[at].layer < layer)
		at++;
	return at;
}

static bool is_tail(const struct view_dir *dir, size_t split, const struct view_dir *old)
{
	if (dir->count - split != old->count)
		return false;
	for (size_t i = 0; i < old->count; i++) {
		const struct view_source *a = &dir->items[split + i], *b = &old->items[i];

		if (a->layer != b->layer || a->dev != b->dev || a->ino != b->ino)
			return false;
	}
	return true;
}

/* The older point's side. Where both ask the same for the same, the answer is there already. */
static int seek_old(struct delta_walk *walk, struct entering *at)
{
	struct view_dir tail;
	struct view_seek seek = { .root = &walk->root,
				  .dir = delta_frame_old(at->above, &tail),
				  .name = at->name,
				  .split = SIZE_MAX,
				  .is_path_kept = at->above->is_shared };

	if (at->above->is_shared && at->new.is_plain && at->split < at->new.dir.count) {
		at->is_shared = true;
		at->old.exists = true;
		at->old.stat = at->new.split_stat;
		at->old.where = at->new.dir.items[at->split].parent - at->above->split;
		return 0;
	}
	if (view_seek(&seek, &at->old) < 0)
		return delta_fail(walk);
	if (at->old.exists && S_ISDIR(at->old.stat.st.st_mode) &&
	    is_tail(&at->new.dir, at->split, &at->old.dir)) {
		at->is_shared = at->old.dir.count > 0;
		view_dir_done(&at->old.dir);
	}
	if (at->old.is_forged || at->old.is_closed)
		walk->delta->is_partial = walk->delta->is_cut = true;
	return 0;
}

static int seek_both(struct delta_walk *walk, struct entering *at, const struct delta_name *entry)
{
	struct view_seek seek = { .root = &walk->root,
				  .dir = &at->above->new,
				  .name = at->name,
				  .first = entry->first,
				  .split = walk->options->old_from };

	if (entry->first != DELTA_NAME_NOWHERE && view_seek(&seek, &at->new) < 0)
		return delta_fail(walk);
	at->split = find_split(&at->new.dir, walk->options->old_from);
	if (at->new.is_forged)
		walk->delta->is_partial = walk->delta->is_cut = true;
	if (at->new.is_closed && at->new.exists)
		delta_note_closed(walk);
	return seek_old(walk, at);
}

/*
 * A directory that was not there before and shows an old one that is not there any more was renamed; *ret_place gets
 * where it was. Anything less clear (exchanged, moved over another, into the workspace) is compared name by name.
 */
static bool find_moved(struct delta_walk *walk, struct entering *at, struct view_place *ret_place)
{
	const char *asked = at->new.split_name ? at->new.split_name : at->name;
	const char *unit = walk->root.unit->path;
	owned(view_place_done) struct view_place now = { 0 };

	if (!walk->options->renames || walk->options->split_renames || at->split == 0 ||
	    at->split == at->new.dir.count)
		return false;
	if (asked[0] == '/')
		at->moved_from = xasprintf("%s%s", unit[1] ? unit : "", asked);
	else if (at->above->is_shared)
		at->moved_from = xasprintf("%.*s/%s", (int)at->above->old_len,
					   at->above->old_path->text.data, asked);
	if (!at->moved_from || path_set_has(&walk->moved, at->moved_from) ||
	    path_set_has(&walk->claimed, at->moved_from) ||
	    delta_zone_of(walk, at->moved_from) != delta_zone_of(walk, walk->path.data))
		return false;
	const char *below = at->moved_from + (unit[1] ? strlen(unit) : 0);

	if (view_find(&walk->root, walk->options->new_from, below, &now) < 0 || now.found.exists)
		return false;
	return view_find(&walk->root, walk->options->old_from, below, ret_place) == 0 &&
	       !ret_place->is_unit && is_tail(&at->new.dir, at->split, &ret_place->found.dir);
}

static bool add_moved(struct delta_walk *walk, struct entering *at, const struct delta_object *new)
{
	owned(view_place_done) struct view_place place = { 0 };

	if (!find_moved(walk, at, &place) || !delta_may_keep(walk, strlen(at->moved_from)))
		return false;
	struct delta_found found = { .op = DELTA_RENAMED,
				     .path = walk->path.data,
				     .from = at->moved_from,
				     .new = *new,
				     .old = { .at = &place.outer.items[place.found.where],
					      .name = place.name,
					      .stat = &place.found.stat } };

	found.aspects = ASPECT_PATH | delta_compare(walk, new, &found.old, &found.flags);
	delta_add(walk, &found);
	(void)path_set_add(&walk->moved, at->moved_from);
	at->is_shared = true;
	return true;
}

/* What became of the directory itself. Whether what is below it has to be looked at. */
static bool judge(struct delta_walk *walk, struct entering *at)
{
	struct view_dir tail;
	const struct view_dir *old_dir = delta_frame_old(at->above, &tail);
	struct delta_object new = { .name = at->name, .stat = &at->new.stat };
	struct delta_object old = { .name = at->name, .stat = &at->old.stat };

	if (at->new.exists && at->old.exists &&S_ISDIR(at->old.stat.st.st_mode) &&
	    !delta_claim(walk, at->above, at->name)) {
		view_found_done(&at->old);
		at->is_shared = false;
	}
	new.is_merged = at->is_shared;
	if (at->new.exists)
		new.at = &at->above->new.items[at->new.where];
	if (at->old.exists)
		old.at = &old_dir->items[at->old.where];
	if (new.at && old.at)
		delta_add_both(walk, at->above, &new, &old);
	else if (new.at && !add_moved(walk, at, &new))
		delta_add_added(walk, &new);
	else if (old.at)
		return delta_add_gone(walk, &old);
	/* Equal all the way down. */
	return !(at->is_shared && at->split == 0);
}

/* Two directories of one name, neither of which is the other. */
static bool is_replaced(const struct entering *at)
{
	return !at->is_shared && at->new.exists &&
	       at->old.exists &&S_ISDIR(at->new.stat.st.st_mode) &&
	       S_ISDIR(at->old.stat.st.st_mode);
}

/* Whether the host's directory of that name is one that the sandbox never saw. */
static int find_unseen(struct delta_walk *walk, struct entering *at)
{
	int is_unseen = 0;

	if (!is_replaced(at))
		return 0;
	is_unseen = at->above->is_unseen ? 1 : delta_is_unseen(walk, &at->new, &at->old);
	at->is_unseen = is_unseen > 0;
	return is_unseen < 0 ? -1 : 0;
}

/* A directory that is made inside, in place of the host's or later renamed to its name, shows nothing of that. */
static void find_hiding(struct delta_walk *walk, const struct entering *at,
			struct delta_frame *frame)
{
	frame->is_hiding = at->above->is_hiding;
	if (frame->is_hiding || !is_replaced(at) || !delta_hides_host(walk, &at->new))
		return;
	frame->is_hiding = true;
	if (delta_may_keep(walk, frame->old_len))
		strv_addf(&walk->delta->hiding, "%.*s", (int)frame->old_len,
			  frame->old_path->text.data);
}

static struct view_path *old_path_of(const struct entering *at, size_t *ret_len)
{
	struct view_path *path = at->above->old_path;

	if (at->moved_from) {
		path = xcalloc(1, sizeof(*path));
		str_add(&path->text, at->moved_from);
	} else {
		str_truncate(&path->text, at->above->old_len);
		str_add_char(&path->text, '/');
		str_add(&path->text, at->name);
	}
	path->users++;
	*ret_len = path->text.len;
	return path;
}

int delta_walk_below(struct delta_walk *walk, size_t index)
{
	const struct delta_frame *above = &walk->frames[walk->depth - 1];
	owned(entering_done) struct entering at = { .above = above };
	struct delta_frame frame = { 0 };
	const char *name = delta_names_get(&above->below, index);

	memcpy(at.name, name, strlen(name) + 1);
	delta_set_path(walk, above->path_len, at.name);
	if (seek_both(walk, &at, &above->below.items[index]) < 0)
		return -1;
	if (at.new.is_closed && !at.new.exists)
		return delta_note_unsearchable(walk, above);
	if (!judge(walk, &at))
		return 0;
	if (find_unseen(walk, &at) < 0)
		return -1;
	if (!at.is_shared) {
		free(at.moved_from);
		at.moved_from = NULL;
	}
	/* What stands where a directory was is gone with it, and listed in its place. */
	if (at.old.exists && !S_ISDIR(at.old.stat.st.st_mode))
		view_dir_done(&at.old.dir);
	frame.old_path = old_path_of(&at, &frame.old_len);
	find_hiding(walk, &at, &frame);
	frame.new = at.new.dir;
	frame.old = at.old.dir;
	frame.split = at.split;
	frame.zone = above->zone;
	frame.is_shared = at.is_shared;
	frame.is_unseen = at.is_unseen;
	frame.is_moved = above->is_moved || at.moved_from;
	at.new.dir = at.old.dir = (struct view_dir){ 0 };
	return delta_walk_enter(walk, &frame);
}
