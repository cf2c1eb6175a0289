/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays in the sandbox by the caller's request, and with it what cannot go without it.
 *
 * It is the other way round than a selection: that grows by what it needs (promote_select.c), this by what needs it. The
 * items are still there and known to be coming, so that the rest is asked about as if they came with it.
 */
#include "workspace/promote/promote_left.h"

#include "workspace/disk/target.h"

static bool is_directory(const struct delta_side *side)
{
	return side->exists && S_ISDIR(side->st.st_mode);
}

static bool leave(struct item *item)
{
	bool is_new = !item->is_left;

	item->is_left = true;
	return is_new;
}

/* PATH and all below it. */
static void leave_path(struct promote *promote, const char *path)
{
	size_t at = promote_find(promote, path);

	if (at != NO_ITEM)
		leave(&promote->items[at]);
	for (at = promote_find_below(promote, path);
	     at < promote->count && target_relative(path, promote->items[at].path); at++)
		leave(&promote->items[at]);
}

/* Whether the item needs the change of its directory ABOVE, or is part of it. */
static bool needs(const struct item *item, const struct item *above)
{
	if (item->entry.new.exists)
		return !is_directory(&above->entry.old);
	return above->entry.new.exists ? !is_directory(&above->entry.new) : above->twin != NO_ITEM;
}

/* One round; false when nothing more has to stay. */
static bool spread(struct promote *promote)
{
	bool any = false;

	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];
		struct item *above = item->parent == NO_ITEM ? NULL : &promote->items[item->parent];

		if (above && above->is_left && needs(item, above))
			any |= leave(item);
		if (!item->is_left)
			continue;
		/* A directory with a file in it that stays on the host stays there, too. */
		if (above && !item->entry.new.exists && !is_directory(&above->entry.new))
			any |= leave(above);
		if (item->twin != NO_ITEM)
			any |= leave(&promote->items[item->twin]);
		/* Names of one inode go together, or the link between them would be lost. */
		any |= leave(&promote->items[item->mate]);
	}
	return any;
}

void promote_leave_asked(struct promote *promote)
{
	const struct strv *paths = promote->request->leave;

	if (!paths || paths->count == 0)
		return;
	for (size_t i = 0; i < paths->count; i++)
		leave_path(promote, paths->items[i]);
	/* Each may find something for the other. */
	for (bool more = true; more;) {
		more = spread(promote);
		more = promote_spread_left(promote) || more;
	}
	for (size_t i = 0; i < promote->count; i++)
		if (promote->items[i].is_left)
			promote->items[i].is_selected = false;
}
