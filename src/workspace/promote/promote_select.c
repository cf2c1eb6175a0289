/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes are promoted: all of the workspace's, or those asked for with what they cannot be without. */
#include "workspace/promote/promote_commits.h"
#include "workspace/promote/promote_left.h"
#include "workspace/promote/promote_link.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "base/text/wildcard.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_items(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->path, ((const struct item *)b)->path);
}

static int compare_path(const void *path, const void *item)
{
	return strcmp(path, ((const struct item *)item)->path);
}

size_t promote_find(const struct promote *promote, const char *path)
{
	const struct item *item = promote->count == 0
					  ? NULL
					  : bsearch(path, promote->items, promote->count,
						    sizeof(struct item), compare_path);

	return item ? (size_t)(item - promote->items) : NO_ITEM;
}

static void add_item(struct promote *promote, const struct delta_entry *entry)
{
	const char *workspace = promote->sandbox->workspace;
	const char *path = target_relative(workspace, entry->path);
	const char *place = target_relative(workspace, origin_base_path(promote->stack, entry));

	/* The workspace itself is the caller's: neither its mode nor its owner is the sandbox's to change. */
	if (!path || !*path)
		return;
	promote->items[promote->count++] = (struct item){
		.entry = *entry,
		.path = path,
		.place = place ? place : path,
		.twin = NO_ITEM,
		.parent = NO_ITEM,
		.carrier = NO_ITEM,
		.staged = NO_ITEM,
	};
}

/* A rename is an addition and a deletion that belong together. */
static void add_renamed(struct promote *promote, const struct delta_entry *entry)
{
	struct delta_entry gone = *entry, fresh = *entry;

	gone.op = DELTA_DELETED;
	gone.path = entry->from;
	gone.from = NULL;
	gone.new = (struct delta_side){ 0 };
	fresh.op = DELTA_ADDED;
	fresh.old = (struct delta_side){ 0 };
	add_item(promote, &fresh);
	add_item(promote, &gone);
}

static size_t parent_of(const struct promote *promote, const char *path)
{
	const char *slash = strrchr(path, '/');
	owned(free_ptr) char *above = slash ? xstrndup(path, (size_t)(slash - path)) : NULL;

	return above ? promote_find(promote, above) : NO_ITEM;
}

/* Two items of one path: the deletion half of a rename whose old name is in use again. The change itself stays. */
static void drop_doubles(struct promote *promote)
{
	size_t kept = 0;

	for (size_t i = 0; i < promote->count; i++) {
		struct item *last = kept > 0 ? &promote->items[kept - 1] : NULL;

		if (!last || strcmp(last->path, promote->items[i].path) != 0)
			promote->items[kept++] = promote->items[i];
		else if (last->entry.op == DELTA_DELETED)
			*last = promote->items[i];
	}
	promote->count = kept;
}

/* The target with everything that could be promoted: less is applied only where a part is left out, which asks too much. */
static void see_git(struct promote *promote)
{
	git_tree_free(promote->tree);
	/* A target that is a git directory is known by what it holds, wherever it lies. */
	promote->tree = git_tree_new(promote->request->commits ? NULL : promote->target,
				     promote->target_fd);
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];
		const char *from = item->entry.from;
		const char *old = from ? target_relative(promote->sandbox->workspace, from) : NULL;

		if (item->entry.new.exists)
			git_tree_add(promote->tree, item->path);
		if (old && item->entry.new.exists &&S_ISDIR(item->entry.new.st.st_mode))
			git_tree_add_moved(promote->tree, old, item->path);
	}
}

void promote_link_items(struct promote *promote)
{
	see_git(promote);
	qsort(promote->items, promote->count, sizeof(struct item), compare_items);
	drop_doubles(promote);
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];
		const char *from = item->entry.from;
		const char *old = from ? target_relative(promote->sandbox->workspace, from) : NULL;

		item->parent = parent_of(promote, item->path);
		if (!old)
			continue;
		size_t twin = promote_find(promote, old);

		if (twin == NO_ITEM || promote->items[twin].entry.op != DELTA_DELETED)
			continue;
		item->twin = twin;
		promote->items[twin].twin = i;
	}
	promote_find_mates(promote);
}

static void forget_items(struct promote *promote)
{
	free(promote->items);
	promote->items = NULL;
	promote->count = 0;
	delta_done(&promote->delta);
}

static int read_items(struct promote *promote, bool renames, struct error *err)
{
	struct delta_options options = {
		.workspace = promote->sandbox->workspace,
		.sandbox = promote->sandbox,
		.old_from = promote->stack->count,
		.renames = renames,
		.expand = true,
	};

	if (delta_read(promote->stack, &options, &promote->delta, err) < 0)
		return -1;
	if (promote->delta.is_cut)
		return error_set(
			err, ERROR_DENIED,
			"more changed than could be looked at: nothing is promoted from an "
			"incomplete list");
	promote->items = xcalloc(promote->delta.count * 2 + 1, sizeof(struct item));
	for (size_t i = 0; i < promote->delta.count; i++) {
		const struct delta_entry *entry = &promote->delta.items[i];

		if (entry->op == DELTA_RENAMED && entry->from)
			add_renamed(promote, entry);
		else
			add_item(promote, entry);
	}
	promote_link_items(promote);
	return 0;
}

size_t promote_find_below(const struct promote *promote, const char *path)
{
	owned(free_ptr) char *start = xasprintf("%s/", path);
	size_t low = 0, high = promote->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(promote->items[middle].path, start) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether there are items below directory PATH. */
static bool has_below(const struct promote *promote, const char *path)
{
	size_t at = promote_find_below(promote, path);

	return at < promote->count && target_relative(path, promote->items[at].path);
}

/* Whether the host has something else where the sandbox made a directory above the item: that is replaced after renames. */
static bool is_below_replaced(const struct promote *promote, const struct item *item)
{
	struct txn_identity now;

	for (size_t at = item->parent; at != NO_ITEM; at = promote->items[at].parent) {
		target_look(promote->target_fd, promote->items[at].path, &now);
		if (now.exists && target_type(&now) != 'd')
			return true;
	}
	return false;
}

/*
 * A renamed directory is one step that takes along whatever the host has in it, if the host has it where it was, the
 * new name is free, nothing else happened to either name, and nothing in it is to be asked about for its new place.
 */
static bool is_movable(const struct promote *promote, const struct item *item)
{
	const struct item *gone = item->twin == NO_ITEM ? NULL : &promote->items[item->twin];
	struct txn_identity from, to;

	if (!gone || item->entry.aspects != ASPECT_PATH || !promote->is_workspace ||
	    gone->parent != NO_ITEM)
		return false;
	if (has_below(promote, gone->path) || is_below_replaced(promote, item))
		return false;
	target_look(promote->target_fd, gone->path, &from);
	target_look(promote->target_fd, item->path, &to);
	return target_type(&from) == 'd' && !to.exists &&
	       promote_carries_quietly(promote, gone->path, item->path);
}

static bool needs_plain(const struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];

		if (item->entry.from &&
		    item->entry.new.exists &&S_ISDIR(item->entry.new.st.st_mode) &&
		    !is_movable(promote, item))
			return true;
	}
	return false;
}

static int list_changes(struct promote *promote, struct error *err)
{
	/* In a git directory nothing is renamed: what looks like it is two files of the same content. */
	if (read_items(promote, !promote->request->commits, err) < 0 ||
	    promote_find_moved(promote, err) < 0)
		return -1;
	int covered = promote_find_covered(promote, err);

	if (covered < 0)
		return -1;
	/* Otherwise it is listed entry by entry, as deletions and additions. */
	if (covered == 0 && !needs_plain(promote))
		return 0;
	forget_items(promote);
	return read_items(promote, false, err);
}

int promote_list(struct promote *promote, struct error *err)
{
	if (list_changes(promote, err) < 0 || promote_leave_ignored(promote, err) < 0)
		return -1;
	for (size_t i = 0; i < promote->delta.count; i++) {
		const char *path = promote->delta.items[i].path;
		const char *relative = target_relative(promote->sandbox->workspace, path);

		if ((!relative || !*relative) && !promote->request->commits)
			strv_add(&promote->promotion->skipped, relative ? "." : path);
	}
	return 0;
}

char *promote_path_asked(const struct promote *promote, const char *path)
{
	const char *workspace = promote->sandbox->workspace;
	owned(free_ptr) char *whole =
		path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", workspace, path);
	owned(free_ptr) char *clean = path_clean(whole);
	const char *relative = clean ? target_relative(workspace, clean) : NULL;

	return relative ? xstrdup(relative) : NULL;
}

bool promote_matches(const struct promote *promote, const char *pattern, const char *path)
{
	owned(free_ptr) char *own = promote_path_asked(promote, pattern);
	size_t len = own ? strlen(own) : 0;

	if (!own)
		return false;
	if (len == 0)
		return true;
	if (strncmp(own, path, len) == 0 && (path[len] == '\0' || path[len] == '/'))
		return true;
	/* The sandbox may create a file called "*.mk": that name then selects this file only, and is no pattern. */
	return promote_find(promote, own) == NO_ITEM && wildcard_matches(own, path, 0);
}

static int select_pattern(struct promote *promote, const char *pattern, struct error *err)
{
	owned(free_ptr) char *own = promote_path_asked(promote, pattern);
	char shown[STR_SHOWN_SIZE];
	size_t found = 0;

	if (!own)
		return error_set(err, ERROR_DENIED,
				 "'%s' is outside the workspace, or climbs with '..': only "
				 "--artifact with --to takes something from elsewhere",
				 str_shown(pattern, shown));
	for (size_t i = 0; i < promote->count; i++) {
		if (!promote_matches(promote, pattern, promote->items[i].path))
			continue;
		promote->items[i].is_selected = true;
		found++;
	}
	if (found == 0)
		return error_set(err, ERROR_NOT_FOUND, "nothing changed at '%s'",
				 str_shown(pattern, shown));
	return 0;
}

/* Whether the item makes its path another kind of thing, so that what is below comes with it or needs it first. */
static bool is_made_or_gone(const struct item *item)
{
	return item->entry.op != DELTA_MODIFIED;
}

static bool select_one(struct item *item)
{
	bool is_new = !item->is_selected;

	item->is_selected = true;
	return is_new;
}

/* One round of what a selection cannot be without; false when nothing was missing. */
static bool close_selection(struct promote *promote)
{
	bool any = false;

	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];
		struct item *above = item->parent == NO_ITEM ? NULL : &promote->items[item->parent];

		/* What goes with its directory goes when the directory goes. */
		if (!item->is_selected && above && above->is_selected && !item->entry.new.exists &&
		    !S_ISDIR(above->entry.new.exists ? above->entry.new.st.st_mode : 0))
			any |= select_one(item);
		if (!item->is_selected)
			continue;
		if (above && item->entry.new.exists &&is_made_or_gone(above))
			any |= select_one(above);
		if (item->twin != NO_ITEM)
			any |= select_one(&promote->items[item->twin]);
		/* Names of one inode go together, or the link between them would be lost. */
		any |= select_one(&promote->items[item->mate]);
	}
	return any;
}

/* A file renamed in the sandbox and edited on the host no longer looks like a rename; the captured base shows that it is one. */
static void pair_by_records(struct promote *promote)
{
	const char *workspace = promote->sandbox->workspace;

	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];
		const struct origin_record *record;
		const char *from;
		size_t twin;

		if (item->entry.op != DELTA_ADDED || item->twin != NO_ITEM ||
		    !S_ISREG(item->entry.new.st.st_mode))
			continue;
		record = origin_index_record(promote->origins, item->entry.path);
		from = record && record->origin.from
			       ? target_relative(workspace, record->origin.from)
			       : NULL;
		twin = from ? promote_find(promote, from) : NO_ITEM;
		if (twin == NO_ITEM || promote->items[twin].entry.op != DELTA_DELETED ||
		    promote->items[twin].twin != NO_ITEM)
			continue;
		item->twin = twin;
		promote->items[twin].twin = i;
	}
}

/* Whether what is in directory CLOSED, which is not known, may be part of what was asked for. */
static bool is_concerned(const struct promote *promote, const char *closed)
{
	const struct strv *paths = &promote->request->paths;

	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];

		/* Also what only looks gone because it lies there. */
		if (item->is_selected && target_relative(closed, item->entry.path))
			return true;
	}
	for (size_t i = 0; i < paths->count; i++) {
		owned(free_ptr) char *own = promote_path_asked(promote, paths->items[i]);
		owned(free_ptr) char *whole =
			xasprintf("%s/%s", promote->sandbox->workspace, own ? own : "");

		if (strpbrk(whole, "*?[") || target_relative(whole, closed))
			return true;
	}
	return paths->count == 0;
}

static int refuse_closed(const struct promote *promote, struct error *err)
{
	const struct strv *closed = &promote->delta.closed;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < closed->count; i++) {
		if (is_concerned(promote, closed->items[i]))
			return error_set(
				err, ERROR_DENIED,
				"directory '%s' of the sandbox may not be read, so nothing is "
				"promoted: open it there first (chmod u+rwx), or name other paths",
				str_shown(closed->items[i], shown));
	}
	return 0;
}

/* It would only fail later, and slowly. */
static int refuse_deep(const struct promote *promote, struct error *err)
{
	for (size_t i = 0; i < promote->count; i++)
		if (promote->items[i].is_selected && walk_is_too_deep(promote->items[i].path))
			return error_advise(
				err, ERROR_DENIED, "name other paths",
				"directories are nested more than %d deep: that is not promoted",
				WALK_DEPTH_MAX);
	return 0;
}

int promote_select(struct promote *promote, struct error *err)
{
	const struct strv *paths = &promote->request->paths;

	if (promote->request->commits)
		return promote_select_commits(promote, err) < 0 ? -1 : refuse_deep(promote, err);
	pair_by_records(promote);
	for (size_t i = 0; paths->count == 0 && i < promote->count; i++)
		promote->items[i].is_selected = true;
	for (size_t i = 0; i < paths->count; i++)
		if (select_pattern(promote, paths->items[i], err) < 0)
			return -1;
	if (promote_check_moved(promote, err) < 0)
		return -1;
	/* Each may find something for the other. */
	for (bool more = paths->count > 0; more;) {
		more = close_selection(promote);
		more = promote_select_moved(promote) || more;
	}
	promote_leave_asked(promote);
	if (refuse_closed(promote, err) < 0)
		return -1;
	return refuse_deep(promote, err);
}
