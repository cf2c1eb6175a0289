/* Promotions that killed processes left: finished or taken back. */
#include "workspace/promotion.h"

#include "base/clock.h"
#include "base/dir.h"
#include "base/own.h"
#include "workspace/txn_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_state(struct promotion_entry *entry, const char *state)
{
	free(entry->state);
	entry->state = xstrdup(state);
}

static bool is_state(const struct promotion_entry *entry, const char *state)
{
	return strcmp(entry->state, state) == 0;
}

/* How an interrupted one stands after its transaction was finished or reversed. */
static int settle_state(const struct store *store, struct promotion_entry *entry,
			enum txn_state state, struct error *err)
{
	switch (state) {
	case TXN_DONE:
		set_state(entry, "live");
		entry->undone_ms = 0;
		return promotion_settle(store, entry, err);
	case TXN_UNDONE:
		set_state(entry, "undone");
		entry->undone_ms = entry->undone_ms ? entry->undone_ms : clock_epoch_ms();
		promotion_note_restored(store, entry);
		return 0;
	case TXN_STUCK:
		set_state(entry, "stuck");
		return 0;
	case TXN_NONE:
	case TXN_PREPARED:
	case TXN_COMMITTED:
	case TXN_ABORTED:
	case TXN_UNDOING:
		break;
	}
	promotion_drop(store, entry->id);
	return 1;
}

/* Finishes or reverses what lies in the entry's directory. *ret_stuck says why both versions are kept. */
static int recover_directory(const struct store *store, const struct promotion_entry *entry,
			     enum txn_state *ret_state, struct error *ret_stuck)
{
	/* A promotion that was done once is pending again only while it is taken back. */
	bool was_done = !is_state(entry, "pending");

	/* Killed before it was noted where it lies, it has left an empty directory at most. */
	if (!entry->directory) {
		owned(free_ptr) char *staging = xasprintf("staging/%s", entry->id);

		(void)unlinkat(store->fd, staging, AT_REMOVEDIR);
		return 0;
	}
	if (txn_match(entry->directory, entry->target, was_done, ret_stuck) == 0 &&
	    txn_recover(entry->directory, ret_state, ret_stuck) == 0)
		return 0;
	return *ret_state == TXN_STUCK || ret_stuck->code == ERROR_NOT_FOUND ? 0 : -1;
}

static int recover_one(const struct store *store, const char *id, struct strv *notes,
		       struct error *err)
{
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };
	enum txn_state state = TXN_NONE;
	struct error stuck = { 0 };
	owned(fd_close) int lock_fd = -1;

	/* Somebody is at it, or it is gone by now. */
	if (promotion_lock(store, id, &lock_fd, err) < 0 && err->code == ERROR_CONFLICT) {
		*err = (struct error){ 0 };
		return 0;
	}
	if (promotion_read(store, id, &entry, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		promotion_drop(store, id);
		*err = (struct error){ 0 };
		return 0;
	}
	if (recover_directory(store, &entry, &state, &stuck) < 0) {
		*err = stuck;
		return -1;
	}
	int status = settle_state(store, &entry, state, err);

	if (status != 0)
		return status < 0 ? -1 : 0;
	if (notes && is_state(&entry, "stuck"))
		strv_addf(notes, "promotion %s to %s is stuck: %s", id, entry.target, stuck.text);
	else if (notes)
		strv_addf(notes, "promotion %s to %s was interrupted and is %s now", id,
			  entry.target, is_state(&entry, "live") ? "done" : "taken back");
	return promotion_save(store, &entry, is_state(&entry, "stuck"), err);
}

int promotion_recover(const struct store *store, struct strv *ret_notes, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, "promotions/pending");
	owned(strv_done) struct strv ids = STRV_INIT;
	struct dirent *entry;
	int status = 0, more;

	if (!dir && errno == ENOENT)
		return 0;
	while ((more = dir_next(dir, &entry)) > 0)
		if (strlen(entry->d_name) == LAYER_ID_SIZE - 1)
			strv_add(&ids, entry->d_name);
	if (more < 0)
		return error_errno(err, ERROR_HOST, "unfinished promotions");
	for (size_t i = 0; i < ids.count && status == 0; i++)
		status = recover_one(store, ids.items[i], ret_notes, err);
	return status;
}
