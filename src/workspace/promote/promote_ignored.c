/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host's version control ignores stays in the sandbox, unless it was asked for.
 *
 * Its items are taken out before anything is selected, so that the rest is judged as if they had never changed: a file
 * renamed between an ignored name and another is a deletion or an addition then, and an ignored file of the host that the
 * sandbox deleted keeps its directory. Renamed directories are promoted whole or not at all (promote_moved.c): one
 * that is ignored in part only is promoted, and what the sandbox did to ignored files in it needs consent; a request with a
 * list to leave, which needs no decision, leaves it whole.
 */
#include "workspace/promote/promote_left.h"

#include "base/core/own.h"

#include <stdlib.h>
#include <string.h>

static bool is_directory(const struct delta_side *side)
{
	return side->exists && S_ISDIR(side->st.st_mode);
}

/* Marks as selected what is not ignored. */
static int ask(struct promote *promote, struct error *err)
{
	const struct promote_request *request = promote->request;
	owned(free_ptr) bool *ignored = xcalloc(promote->count + 1, sizeof(bool));
	owned(strv_done) struct strv paths = STRV_INIT;
	const char *rules = request->rules ? request->rules : promote->sandbox->workspace;

	for (size_t i = 0; i < promote->count; i++) {
		const struct delta_entry *entry = &promote->items[i].entry;
		bool is_dir = is_directory(&entry->old) || is_directory(&entry->new);

		strv_addf(&paths, "%s%s", promote->items[i].path, is_dir ? "/" : "");
	}
	if (request->find_ignored(rules, &paths, ignored, err) < 0) {
		const struct error cause = *err;

		return error_advise(err, cause.code, "name paths, or promote all with --ignored",
				    "what git ignores is not known, so nothing is promoted: %s",
				    cause.text);
	}
	for (size_t i = 0; i < promote->count; i++)
		promote->items[i].is_selected = !ignored[i];
	return 0;
}

/* What is put into a directory needs the directory. Children come after their parents. */
static void select_parents(struct promote *promote)
{
	for (size_t i = promote->count; i-- > 0;) {
		const struct item *item = &promote->items[i];

		if (item->is_selected && item->entry.new.exists && item->parent != NO_ITEM)
			promote->items[item->parent].is_selected = true;
	}
}

/* A new directory of which nothing is promoted is not made. */
static void leave_empty(struct promote *promote)
{
	owned(free_ptr) bool *is_needed = xcalloc(promote->count + 1, sizeof(bool));
	owned(free_ptr) bool *is_left = xcalloc(promote->count + 1, sizeof(bool));

	for (size_t i = promote->count; i-- > 0;) {
		struct item *item = &promote->items[i];

		if (item->entry.op == DELTA_ADDED && is_directory(&item->entry.new) &&
		    !item->entry.from && is_left[i] && !is_needed[i])
			item->is_selected = false;
		if (item->parent != NO_ITEM)
			*(item->is_selected ? &is_needed[item->parent] : &is_left[item->parent]) =
				true;
	}
}

/* A directory with a file in it that stays on the host stays there, too. */
static void keep_parents(struct promote *promote)
{
	for (size_t i = promote->count; i-- > 0;) {
		const struct item *item = &promote->items[i];
		struct item *above = item->parent == NO_ITEM ? NULL : &promote->items[item->parent];

		if (!item->is_selected && !item->entry.new.exists && above &&
		    !is_directory(&above->entry.new))
			above->is_selected = false;
	}
}

/* Where the host has the files that a renamed directory shows as they are under its new name; sorted. */
static void find_shown(const struct promote *promote, struct strv *ret_places)
{
	const char *workspace = promote->sandbox->workspace;

	for (size_t i = 0; i < promote->count; i++) {
		const struct delta_side *new = &promote->items[i].entry.new;

		if (delta_is_own(promote->stack, new, workspace) && !is_directory(new))
			strv_add(ret_places, new->layer_path);
	}
	strv_sort(ret_places);
}

/* Whether the item changes a file, and is not just one half of a rename: of its own, or of its directory, as SHOWN has them. */
static bool is_file_change(const struct promote *promote, const struct item *item,
			   const struct strv *shown)
{
	const struct delta_entry *entry = &item->entry;
	bool is_rename = item->twin != NO_ITEM || entry->from;

	if (is_directory(&entry->old) || is_directory(&entry->new))
		return false;
	if (!entry->old.exists &&
	    delta_is_own(promote->stack, &entry->new, promote->sandbox->workspace))
		return false;
	if (!entry->new.exists && strv_has_sorted(shown, entry->path))
		return false;
	return !is_rename || (entry->aspects & ASPECT_CONTENT);
}

static void mark_carried(struct promote *promote)
{
	owned(strv_done) struct strv shown = STRV_INIT;

	find_shown(promote, &shown);
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		item->is_carried = !item->is_selected && is_file_change(promote, item, &shown);
	}
}

/* Renamed directories, of which a part is ignored. */
static void settle_moved(struct promote *promote)
{
	if (!promote->request->leave) {
		mark_carried(promote);
		while (promote_select_moved(promote))
			continue;
		return;
	}
	for (size_t i = 0; i < promote->count; i++)
		promote->items[i].is_left = !promote->items[i].is_selected;
	while (promote_spread_left(promote))
		continue;
	for (size_t i = 0; i < promote->count; i++)
		promote->items[i].is_selected = !promote->items[i].is_left;
	keep_parents(promote);
}

static void note_ignored(struct promote *promote, const struct item *item)
{
	const struct item *above = item->parent == NO_ITEM ? NULL : &promote->items[item->parent];
	struct strv *at = &promote->promotion->ignored_at;

	promote->promotion->ignored++;
	if ((!above || above->is_selected) && at->count < IGNORED_AT_MAX)
		strv_addf(at, "%s%s", item->path,
			  is_directory(&item->entry.new) || is_directory(&item->entry.old) ? "/"
											   : "");
}

static void take_out(struct promote *promote)
{
	size_t kept = 0;

	for (size_t i = 0; i < promote->count; i++)
		if (!promote->items[i].is_selected)
			note_ignored(promote, &promote->items[i]);
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		if (!item->is_selected)
			continue;
		item->is_selected = item->is_left = false;
		item->twin = item->parent = NO_ITEM;
		promote->items[kept++] = *item;
	}
	promote->count = kept;
	promote_link_items(promote);
}

int promote_leave_ignored(struct promote *promote, struct error *err)
{
	const struct promote_request *request = promote->request;

	/* What a git directory holds is no part of a work tree. */
	if (!request->find_ignored || request->commits || request->paths.count > 0 ||
	    promote->count == 0)
		return 0;
	if (ask(promote, err) < 0)
		return -1;
	keep_parents(promote);
	leave_empty(promote);
	if (!request->leave && promote_check_moved(promote, err) < 0)
		return -1;
	settle_moved(promote);
	select_parents(promote);
	take_out(promote);
	return 0;
}
