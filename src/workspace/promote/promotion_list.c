/* SPDX-License-Identifier: Apache-2.0 */
/* The list of promotions, newest first. */
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

#include "base/core/own.h"
#include "workspace/base/origin_record.h"
#include "workspace/disk/target.h"

#include <stdlib.h>
#include <string.h>

/* Relative to the target, as the caller knows them. */
int promotion_paths(const struct store *store, const struct promotion_entry *entry,
		    struct strv *ret_paths, struct error *err)
{
	owned(origin_records_done) struct origin_records paths = { 0 };
	owned(fd_close) int fd = -1;

	if (promotion_open_directory(store, entry->id, &fd, err) < 0 ||
	    origin_records_read(fd, "paths", &paths, err) < 0)
		return -1;
	for (size_t i = 0; i < paths.count; i++) {
		const char *relative = target_relative(entry->target, paths.items[i].path);

		strv_add(ret_paths, relative ? relative : paths.items[i].path);
	}
	return 0;
}

static const char *state_of(const struct promotion_entry *entry)
{
	static const char *const states[] = { "pending", "live", "undone", "stuck", "kept" };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(entry->state, states[i]) == 0)
			return states[i];
	return "pending";
}

void promotion_records_free(struct promotion_record *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(items[i].sandbox);
		free(items[i].target);
		free(items[i].owner);
		free(items[i].workspace);
		free(items[i].note);
		strv_done(&items[i].paths);
	}
	free(items);
}

/* Why it is unfinished; NULL when it is not, or while another process works on it. */
static char *unfinished_note(const struct store *store, const char *id, const char *state)
{
	struct error why = { 0 };

	if (strcmp(state, "pending") != 0 && strcmp(state, "stuck") != 0)
		return NULL;
	return promotion_finish(store, id, &why) < 0 ? xstrdup(why.text) : NULL;
}

static int add_record(const struct store *store, struct promotion_entry *entry,
		      struct promotion_record *record, struct error *err)
{
	*record = (struct promotion_record){
		.sandbox = ptr_take(&entry->sandbox),
		.owner = ptr_take(&entry->owner),
		.workspace = ptr_take(&entry->workspace),
		.made_ms = entry->made_ms,
		.undone_ms = entry->undone_ms,
		.files = entry->files,
		.state = state_of(entry),
	};
	record->note = unfinished_note(store, entry->id, record->state);
	memcpy(record->id, entry->id, sizeof(record->id));
	memcpy(record->digest, entry->digest, sizeof(record->digest));
	int status = promotion_paths(store, entry, &record->paths, err);

	record->target = ptr_take(&entry->target);
	return status;
}

/* One that cannot be read is an error, not left out: else the one before it would pass for the newest. */
static void add_unread(const char *id, struct promotion_record *record)
{
	*record = (struct promotion_record){
		.sandbox = xstrdup(""),
		.target = xstrdup(""),
		.state = PROMOTION_UNREADABLE,
	};
	memcpy(record->id, id, sizeof(record->id));
}

int promotion_list(const struct store *store, const char *target,
		   struct promotion_record **ret_items, size_t *ret_count, struct error *err)
{
	struct strv ids = STRV_INIT;
	struct promotion_record *items = NULL;
	size_t count = 0;
	int status = promotion_recover(store, NULL, err) < 0 ? -1 : promotion_ids(store, &ids, err);

	for (size_t i = 0; i < ids.count && status == 0; i++) {
		owned(promotion_entry_done) struct promotion_entry entry = { 0 };
		struct error why = { 0 };
		bool is_read = promotion_read(store, ids.items[i], &entry, &why) == 0;

		/* One that goes this moment, or cannot be read, hides no other. */
		if (is_read ? target && strcmp(entry.target, target) != 0
			    : target || why.code == ERROR_NOT_FOUND)
			continue;
		items = xrealloc(items, count + 1, sizeof(items[0]));
		if (is_read)
			(void)add_record(store, &entry, &items[count++], &why);
		else
			add_unread(ids.items[i], &items[count++]);
	}
	strv_done(&ids);
	if (status < 0)
		return -1;
	*ret_items = items;
	*ret_count = count;
	return 0;
}
