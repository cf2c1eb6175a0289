/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both points of a unit walked together.
 *
 * Where a directory of the newer point shows through to the same directory of the older one, only the layers between
 * them are listed: the rest is equal. Where it shows another (renamed), or nothing (opaque), all of both is. What is
 * gone of the older point is kept for the end, when it is known which of its directories are elsewhere.
 */
#include "base/core/own.h"
#include "workspace/delta/delta_unseen.h"
#include "workspace/disk/target.h"

#include <dirent.h>
#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Directories that may not be read; with more it is not worth telling which. */
#define CLOSED_MAX 256

int delta_fail(struct delta_walk *walk)
{
	return error_errno(walk->err, ERROR_HOST, "cannot compare what lies at %s",
			   walk->root.unit->path);
}

void delta_set_path(struct delta_walk *walk, size_t len, const char *name)
{
	str_truncate(&walk->path, len);
	str_add_char(&walk->path, '/');
	str_add(&walk->path, name);
}

void delta_note_closed(struct delta_walk *walk)
{
	struct strv *closed = &walk->delta->closed;

	walk->delta->is_partial = true;
	if (closed->count == CLOSED_MAX)
		walk->delta->is_cut = true;
	else if (!strv_has(closed, str_cstr(&walk->path)))
		strv_add(closed, str_cstr(&walk->path));
}

const char *delta_why_partial(const struct delta *delta, const char *workspace,
			      char buffer[static DELTA_WHY_SIZE])
{
	const struct strv *closed = &delta->closed;
	const char *first, *relative;
	char shown[STR_SHOWN_SIZE], more[48] = "";

	if (delta->is_cut || closed->count == 0) {
		(void)snprintf(buffer, DELTA_WHY_SIZE, "too much was changed to look at all of it");
		return buffer;
	}
	first = closed->items[0];
	relative = target_relative(workspace, first);
	if (closed->count > 1)
		(void)snprintf(more, sizeof(more), " (and %zu more like it)", closed->count - 1);
	(void)snprintf(
		buffer, DELTA_WHY_SIZE,
		"directory '%s'%s of the sandbox may not be read, so what changed in it is not "
		"known (chmod u+rwx opens it there)",
		str_shown(relative && *relative ? relative : first, shown), more);
	return buffer;
}

/* The old path of NAME in FRAME; good until the next one. */
static const char *old_path(struct delta_walk *walk, const struct delta_frame *frame,
			    const char *name)
{
	str_clear(&walk->old_name);
	str_add_bytes(&walk->old_name, frame->old_path->text.data, frame->old_len);
	str_add_char(&walk->old_name, '/');
	str_add(&walk->old_name, name);
	return walk->old_name.data;
}

bool delta_claim(struct delta_walk *walk, const struct delta_frame *frame, const char *name)
{
	if (!frame->is_moved)
		return true;
	const char *path = old_path(walk, frame, name);

	if (path_set_has(&walk->moved, path))
		return false;
	if (delta_may_keep(walk, strlen(path)))
		(void)path_set_add(&walk->claimed, path);
	return true;
}

/* What the older point has under NAME; its source is NULL when there is nothing. */
static int find_old(struct delta_walk *walk, const struct delta_frame *frame, const char *name,
		    struct delta_object *ret_object, struct view_stat *ret_stat)
{
	struct view_dir tail;
	const struct view_dir *dir = delta_frame_old(frame, &tail);

	*ret_object = (struct delta_object){ .name = name, .stat = ret_stat };
	for (size_t i = 0; i < dir->count; i++) {
		enum view_probe probe = view_probe(&walk->root, &dir->items[i], name, ret_stat);

		if (probe == VIEW_PROBE_FAILED && errno != EACCES)
			return delta_fail(walk);
		if (probe == VIEW_PROBE_FAILED)
			walk->delta->is_partial = walk->delta->is_cut = true;
		if (probe == VIEW_PROBE_THERE)
			ret_object->at = &dir->items[i];
		if (probe != VIEW_PROBE_ABSENT)
			break;
	}
	return 0;
}

/* Something was at the old path of NAME, and is not any more. */
static void add_deleted(struct delta_walk *walk, const struct delta_frame *frame,
			const struct delta_object *old)
{
	const char *path = old_path(walk, frame, old->name);

	if (!S_ISDIR(old->stat->st.st_mode)) {
		delta_add(walk,
			  &(struct delta_found){ .op = DELTA_DELETED, .path = path, .old = *old });
	} else if (delta_may_keep(walk, strlen(path))) {
		strv_add(&walk->gone, path);
	}
}

void delta_add_added(struct delta_walk *walk, const struct delta_object *new)
{
	struct delta_found found = { .op = DELTA_ADDED, .path = walk->path.data, .new = *new };

	if (S_ISDIR(new->stat->st.st_mode) && !walk->options->expand)
		return;
	if (delta_attributes_differ(walk->stack, new, &found.old, &found.flags))
		found.aspects |= ASPECT_XATTR;
	delta_add(walk, &found);
}

void delta_add_both(struct delta_walk *walk, const struct delta_frame *frame,
		    const struct delta_object *new, const struct delta_object *old)
{
	struct delta_found found = {
		.op = DELTA_MODIFIED, .path = walk->path.data, .new = *new, .old = *old
	};
	unsigned ignored = walk->options->mtime ? 0 : ASPECT_MTIME;

	if ((new->stat->st.st_mode ^ old->stat->st.st_mode) & S_IFMT) {
		found.op = DELTA_TYPE;
		found.aspects = ASPECT_TYPE;
		(void)delta_attributes_differ(walk->stack, new, &(struct delta_object){ 0 },
					      &found.flags);
		if (S_ISDIR(old->stat->st.st_mode) && delta_may_keep(walk, frame->old_len))
			strv_add(&walk->replaced, old_path(walk, frame, old->name));
	} else {
		found.aspects = delta_compare(walk, new, old, &found.flags);
	}
	if (!(found.aspects & ~ignored) && delta_is_kept(walk, new)) {
		found.aspects |= ASPECT_LINK;
		found.flags |= FLAG_SAME;
	}
	if (found.aspects & ~ignored)
		delta_add(walk, &found);
}

static bool is_left_out(const struct delta_walk *walk, const struct delta_frame *frame,
			const char *name)
{
	return target_is_own_name(name) ||
	       (frame->zone == ZONE_MIXED && delta_zone_of(walk, walk->path.data) == ZONE_SKIPPED);
}

/* What the newer point has under NAME; for what is listed as a directory only that fact. */
static enum view_probe probe_new(struct delta_walk *walk, const struct delta_frame *frame,
				 const struct delta_name *entry, const char *name,
				 struct view_stat *ret_stat)
{
	if (entry->first == DELTA_NAME_NOWHERE)
		return VIEW_PROBE_ABSENT;
	const struct view_source *at = &frame->new.items[entry->first];

	if (entry->type == DT_DIR && at->layer < walk->stack->count) {
		*ret_stat = (struct view_stat){ .st.st_mode = S_IFDIR };
		return VIEW_PROBE_THERE;
	}
	return view_probe(&walk->root, at, name, ret_stat);
}

/* Lists what became of one name; NEW is no directory, and either may be nothing. */
static void add_change(struct delta_walk *walk, struct delta_frame *frame,
		       const struct delta_object *new, struct delta_object *old)
{
	bool was_dir = old->at && S_ISDIR(old->stat->st.st_mode);

	if (new->at && was_dir && !delta_claim(walk, frame, old->name))
		old->at = NULL;
	if (new->at && old->at)
		delta_add_both(walk, frame, new, old);
	else if (new->at)
		delta_add_added(walk, new);
	else if (was_dir && walk->is_hidden)
		delta_names_add(&frame->below, old->name, DELTA_NAME_NOWHERE, DT_DIR);
	else if (old->at)
		add_deleted(walk, frame, old);
}

int delta_note_unsearchable(struct delta_walk *walk, const struct delta_frame *frame)
{
	str_truncate(&walk->path, frame->path_len);
	delta_note_closed(walk);
	return 0;
}

/* One name of a directory; directories of the newer point are kept for later. */
static int look_at(struct delta_walk *walk, struct delta_frame *frame, size_t index)
{
	const struct delta_name *entry = &walk->names.items[index];
	const char *name = delta_names_get(&walk->names, index);
	struct view_stat new_stat, old_stat;
	struct delta_object new = { .name = name, .stat = &new_stat }, old;
	enum view_probe probe;

	delta_set_path(walk, frame->path_len, name);
	if (is_left_out(walk, frame, name))
		return 0;
	probe = probe_new(walk, frame, entry, name, &new_stat);
	if (probe == VIEW_PROBE_FAILED && errno == EACCES)
		return delta_note_unsearchable(walk, frame);
	if (probe == VIEW_PROBE_FAILED)
		return delta_fail(walk);
	if (probe == VIEW_PROBE_THERE && S_ISDIR(new_stat.st.st_mode)) {
		delta_names_add(&frame->below, name, entry->first, DT_DIR);
		return 0;
	}
	if (probe == VIEW_PROBE_THERE)
		new.at = &frame->new.items[entry->first];
	if (find_old(walk, frame, name, &old, &old_stat) < 0)
		return -1;
	int is_unseen = frame->is_unseen && !new.at &&old.at
				? delta_is_unseen_entry(walk, old_path(walk, frame, name))
				: 0;

	/* Removed on both sides: recorded as absent, or a file that the host makes later would pass for the removed one. */
	if (probe == VIEW_PROBE_WHITEOUT && !old.at && walk->options->same)
		delta_add(walk, &(struct delta_found){ .op = DELTA_DELETED,
						       .path = old_path(walk, frame, name) });

	if (is_unseen == 0)
		add_change(walk, frame, &new, &old);
	return is_unseen < 0 ? -1 : 0;
}

static int list_source(struct delta_walk *walk, const struct view_source *source, uint16_t first)
{
	if (delta_names_list(&walk->names, source->fd, first, walk->buffers, DELTA_BUFFER) == 0)
		return 0;
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return delta_fail(walk);
	/* What may not be listed in the base was not listed inside either. */
	if (source->layer < walk->stack->count && errno == EACCES)
		delta_note_closed(walk);
	else if (errno != EACCES)
		walk->delta->is_partial = walk->delta->is_cut = true;
	return 0;
}

static int list(struct delta_walk *walk, struct delta_frame *frame)
{
	size_t count = frame->is_shared ? frame->split : frame->new.count;

	delta_names_clear(&walk->names);
	for (size_t i = 0; i < count; i++)
		if (list_source(walk, &frame->new.items[i], (uint16_t)i) < 0)
			return -1;
	for (size_t i = 0; !frame->is_shared && i < frame->old.count; i++)
		if (list_source(walk, &frame->old.items[i], DELTA_NAME_NOWHERE) < 0)
			return -1;
	delta_names_sort(&walk->names);
	for (size_t i = 0; i < walk->names.count; i++) {
		if (!delta_may_look(walk))
			return 0;
		if (look_at(walk, frame, i) < 0)
			return -1;
	}
	return 0;
}

int delta_walk_enter(struct delta_walk *walk, struct delta_frame *frame)
{
	frame->path_len = walk->path.len;
	if (frame->zone == ZONE_MIXED)
		frame->zone = delta_zone_of(walk, walk->path.len ? walk->path.data : "/");
	return list(walk, delta_frame_push(walk, frame));
}

int delta_walk_rest(struct delta_walk *walk)
{
	while (walk->depth > 0) {
		struct delta_frame *frame = &walk->frames[walk->depth - 1];

		if (frame->next < frame->below.count && delta_may_look(walk)) {
			if (delta_walk_below(walk, frame->next++) < 0)
				return -1;
		} else if (delta_frame_pop(walk) < 0) {
			walk->delta->is_partial = walk->delta->is_cut = true;
		}
	}
	return 0;
}

int delta_walk_unit(struct delta_walk *walk)
{
	int status = delta_walk_root(walk);

	if (status == 0)
		status = delta_walk_rest(walk);
	if (status == 0)
		status = delta_walk_hidden(walk);
	while (walk->depth > 0) {
		walk->frames[walk->depth - 1].next = SIZE_MAX;
		(void)delta_frame_pop(walk);
	}
	strv_done(&walk->gone);
	strv_done(&walk->replaced);
	path_set_done(&walk->moved);
	path_set_done(&walk->claimed);
	return status;
}
