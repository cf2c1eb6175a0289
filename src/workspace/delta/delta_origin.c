/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were renamed and edited: the kernel noted which file of the base each was copied up from.
 *
 * The note is a handle as the base's filesystem makes it; a deleted file of the base has the same one. It takes more
 * than one system call per file, so it is asked for where something was deleted and a note is there.
 */
#include "base/core/own.h"
#include "workspace/delta/delta_parts.h"
#include "workspace/disk/handle.h"

#include <stdlib.h>
#include <sys/stat.h>

/* A file of the base that is gone, by what its filesystem called it. */
struct gone {
	struct handle handle;
	struct delta_half *half;
};

static bool read_note(const struct delta_walk *walk, const struct delta_half *half,
		      struct handle *ret_handle)
{
	const struct delta_side *side = &half->entry->new;
	owned(fd_close) int fd = delta_open_side(walk->stack, side);

	return handle_read_note(fd, walk->stack->user_xattr[side->layer], ret_handle);
}

static bool read_gone(const struct delta_walk *walk, struct delta_half *half, struct gone *ret_gone)
{
	char name[256];
	owned(fd_close) int dir_fd = delta_open_parent(walk->stack, &half->entry->old, name);

	ret_gone->half = half;
	return handle_read(dir_fd, name, &ret_gone->handle);
}

static int compare_gone(const void *a, const void *b)
{
	const struct gone *one = a, *other = b;

	return handle_compare(&one->handle, &other->handle);
}

static bool is_noted(const struct delta_half *half)
{
	return !half->is_deleted && half->entry->op == DELTA_ADDED &&
	       (half->entry->flags & FLAG_ORIGIN);
}

static bool is_gone(const struct delta_walk *walk, const struct delta_half *half)
{
	return half->is_deleted && half->entry->path &&
	       half->entry->old.layer == walk->stack->count;
}

/* Handles of the base's files that are gone; none when they would not be used. */
static struct gone *collect(const struct delta_walk *walk, struct delta_half *halves, size_t count,
			    size_t *ret_count)
{
	size_t noted = 0, gone = 0;

	*ret_count = 0;
	for (size_t i = 0; i < count; i++) {
		noted += is_noted(&halves[i]);
		gone += is_gone(walk, &halves[i]);
	}
	if (noted == 0 || gone == 0)
		return NULL;
	struct gone *list = xcalloc(gone, sizeof(*list));

	for (size_t i = 0; i < count; i++)
		if (is_gone(walk, &halves[i]))
			*ret_count += read_gone(walk, &halves[i], &list[*ret_count]);
	return list;
}

void delta_join_origins(struct delta_walk *walk, struct delta_half *halves, size_t count)
{
	size_t gone;
	owned(free_ptr) struct gone *list = collect(walk, halves, count, &gone);

	if (gone == 0)
		return;
	qsort(list, gone, sizeof(*list), compare_gone);
	for (size_t i = 0; i < count; i++) {
		struct gone note = { .half = NULL };

		if (!is_noted(&halves[i]) || !read_note(walk, &halves[i], &note.handle))
			continue;
		const struct gone *found = bsearch(&note, list, gone, sizeof(note), compare_gone);

		if (found && found->half->entry->path &&
		    !((found->half->entry->flags ^ halves[i].entry->flags) & FLAG_OUTSIDE))
			delta_join(walk, found->half, &halves[i]);
	}
}

/* In what the two differ besides their paths. */
static unsigned compare(struct delta_walk *walk, const struct delta_side *new,
			const struct delta_side *old, unsigned *flags)
{
	char new_name[256], old_name[256];
	owned(fd_close) int new_fd = delta_open_parent(walk->stack, new, new_name);
	owned(fd_close) int old_fd = delta_open_parent(walk->stack, old, old_name);
	struct view_source new_at = { .fd = new_fd, .layer = new->layer };
	struct view_source old_at = { .fd = old_fd, .layer = old->layer };
	struct view_stat new_stat = { .st = new->st }, old_stat = { .st = old->st };
	struct delta_object ours = { .at = &new_at, .name = new_name, .stat = &new_stat };
	struct delta_object theirs = { .at = &old_at, .name = old_name, .stat = &old_stat };

	if (new_fd < 0 || old_fd < 0)
		return ASPECT_CONTENT;
	return delta_compare(walk, &ours, &theirs, flags);
}

/* In the place of the addition; the deletion loses its path and is dropped at the end. */
void delta_join(struct delta_walk *walk, struct delta_half *from, struct delta_half *to)
{
	struct delta_entry *entry = to->entry;

	entry->op = DELTA_RENAMED;
	entry->from = from->entry->path;
	entry->old = from->entry->old;
	entry->aspects = ASPECT_PATH | compare(walk, &entry->new, &entry->old, &entry->flags);
	from->entry->path = NULL;
}
