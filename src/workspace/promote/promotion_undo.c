/* SPDX-License-Identifier: Apache-2.0 */
/* Promotions taken back. */
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

#include "base/text/clean_path.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "workspace/promote/promotion_applied.h"
#include "workspace/txn/txn_trust.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The id that starts with PREFIX, of which there must be one. */
static int find_id(const struct strv *ids, const char *prefix, char ret_id[static LAYER_ID_SIZE],
		   struct error *err)
{
	const char *found = NULL;
	char shown[STR_SHOWN_SIZE];
	size_t len = strlen(prefix);

	for (size_t i = 0; i < ids->count; i++) {
		/* People copy ids in either case. */
		if (len == 0 || strncasecmp(ids->items[i], prefix, len) != 0)
			continue;
		if (found)
			return error_set(err, ERROR_USAGE, "several promotions start with '%s'",
					 str_shown(prefix, shown));
		found = ids->items[i];
	}
	if (!found)
		return error_set(err, ERROR_NOT_FOUND, "there is no promotion '%s'",
				 str_shown(prefix, shown));
	memcpy(ret_id, found, LAYER_ID_SIZE);
	return 0;
}

static bool is_unfinished(const struct promotion_entry *entry)
{
	return strcmp(entry->state, "pending") == 0 || strcmp(entry->state, "stuck") == 0;
}

/* Whether a promotion was made to where HERE lies: commits go to the git directory, which may lie elsewhere. */
static bool is_of(const struct promotion_entry *entry, const char *here)
{
	return path_is_within(here, entry->workspace ? entry->workspace : entry->target);
}

/* The newest in force of where HERE lies. One that cannot be read may be that; one that goes this moment is not. */
static int find_newest(const struct store *store, const struct strv *ids, const char *here,
		       char ret_id[static LAYER_ID_SIZE], struct error *err)
{
	for (size_t i = 0; i < ids->count; i++) {
		owned(promotion_entry_done) struct promotion_entry entry = { 0 };
		struct error why = { 0 };
		bool is_read = promotion_read(store, ids->items[i], &entry, &why) == 0;

		if (is_read && is_unfinished(&entry) && is_of(&entry, here) &&
		    promotion_finish(store, ids->items[i], err) < 0)
			return -1;

		if (!is_read && why.code != ERROR_NOT_FOUND)
			return error_set(err, ERROR_HOST,
					 "promotion %s cannot be read, and may be the one to take "
					 "back: say which (aisbx undo ID)",
					 ids->items[i]);
		if (!is_read || strcmp(entry.state, "live") != 0 || !is_of(&entry, here))
			continue;
		memcpy(ret_id, ids->items[i], LAYER_ID_SIZE);
		return 0;
	}
	return error_advise(err, ERROR_NOT_FOUND,
			    "aisbx promotions lists them; aisbx undo ID takes any of them back",
			    "no promotion to take back in %s", here);
}

static int check_undoable(const struct promotion_entry *entry, struct error *err)
{
	if (strcmp(entry->state, "undone") == 0)
		return error_set(err, ERROR_CONFLICT, "promotion %s is undone already", entry->id);
	if (is_unfinished(entry))
		return error_set(err, ERROR_CONFLICT, "promotion %s is being worked on", entry->id);
	if (strcmp(entry->state, "live") != 0 || !entry->directory)
		return error_set(err, ERROR_NOT_FOUND,
				 "promotion %s is too old: what it replaced is no longer kept",
				 entry->id);
	return 0;
}

#define GIT_INDEX ".git/index"

/* Names the paths that are in the way. */
static int explain(const struct txn_result *result, const char *id, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (err->code != ERROR_CONFLICT || result->conflict_count == 0)
		return error_context(err, "cannot undo promotion %s", id);
	const char *path = result->conflicts[0].path;
	size_t len = strlen(path), tail = sizeof(GIT_INDEX) - 1;
	bool is_index = len >= tail && strcmp(path + len - tail, GIT_INDEX) == 0;

	return error_set(err, ERROR_CONFLICT,
			 "cannot undo promotion %s: '%s' was changed since (%s)%s%s", id,
			 str_shown(path, shown), result->conflicts[0].kind,
			 result->conflict_count > 1 ? ", and others" : "",
			 is_index ? "; git writes it also for `git status`: take the commit back "
				    "with `git reset --keep HEAD~1`"
				  : "");
}

static int take_back(const struct store *store, struct promotion_entry *entry, struct error *err)
{
	struct promotion_check applied = { store, entry };
	struct txn_check check = { promotion_check_applied, &applied };
	struct txn_result result = { 0 };
	struct error saving = { 0 };

	if (txn_match(entry->directory, entry->target, true, err) < 0 ||
	    promotion_save(store, entry, true, err) < 0)
		return -1;
	if (txn_undo(entry->directory, &check, &result, err) < 0) {
		explain(&result, entry->id, err);
		if (!result.is_left)
			(void)promotion_save(store, entry, false, &saving);
		txn_result_done(&result);
		return -1;
	}
	txn_result_done(&result);
	free(entry->state);
	entry->state = xstrdup("undone");
	entry->undone_ms = clock_epoch_ms();
	/* Pending until the sandbox shows its renamed directories by their old names again. */
	if (promotion_note_restored(store, entry, err) < 0)
		return -1;
	return promotion_save(store, entry, false, err);
}

/* What is unfinished of the same target comes first. */
static int finish_target_of(const struct store *store, const char *id, struct error *err)
{
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };

	return promotion_read(store, id, &entry, err) < 0
		       ? -1
		       : promotion_finish_target(store, entry.target, err);
}

int promotion_undo(const struct store *store, const char *id, const char *here,
		   char ret_id[static LAYER_ID_SIZE], struct strv *ret_paths, struct error *err)
{
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };
	owned(fd_close) int lock_fd = -1;
	struct strv ids = STRV_INIT;
	int status;

	if (promotion_recover(store, NULL, err) < 0 || promotion_ids(store, &ids, err) < 0)
		return -1;
	status = id ? find_id(&ids, id, ret_id, err) : find_newest(store, &ids, here, ret_id, err);
	strv_done(&ids);
	if (status < 0 || finish_target_of(store, ret_id, err) < 0 ||
	    promotion_lock(store, ret_id, &lock_fd, err) < 0 ||
	    promotion_read(store, ret_id, &entry, err) < 0 || check_undoable(&entry, err) < 0 ||
	    promotion_paths(store, &entry, ret_paths, err) < 0)
		return -1;
	return take_back(store, &entry, err);
}
