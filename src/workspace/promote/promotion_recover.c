/* SPDX-License-Identifier: Apache-2.0 */
/* Promotions that were cut short: finished or reversed as soon as their target can be worked on. */
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

#include "base/text/clean_path.h"
#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "workspace/txn/txn_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* How an interrupted one stands after its transaction was finished or reversed; 1: it is none any more. */
static int settle_state(const struct store *store, struct promotion_entry *entry,
			enum txn_state state, struct error *err)
{
	switch (state) {
	case TXN_DONE:
		if (entry->is_objects)
			return promotion_settle_objects(store, entry, err) < 0 ? -1 : 1;
		set_state(entry, "live");
		entry->undone_ms = 0;
		return promotion_settle(store, entry, err);
	case TXN_UNDONE:
		set_state(entry, "undone");
		entry->undone_ms = entry->undone_ms ? entry->undone_ms : clock_epoch_ms();
		return promotion_note_restored(store, entry, err);
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

/*
 * Whether the transaction's directory was removed. A directory outside the store may be missing because its filesystem is
 * not mounted, or because a directory above it was renamed: then what it lay in is not the directory that was noted.
 */
static bool is_removed(const struct store *store, const struct promotion_entry *entry)
{
	struct txn_identity there;

	if (txn_identity_of(AT_FDCWD, entry->directory, &there) < 0 || there.exists)
		return false;
	if (path_is_within(entry->directory, store->path))
		return true;
	owned(free_ptr) char *above = promotion_place_above(entry->directory);

	return txn_identity_of(AT_FDCWD, above, &there) == 0 && there.exists &&
	       there.ino == entry->place_ino && there.btime_ns == entry->place_btime_ns;
}

/* Finishes or reverses what lies in the entry's directory. -1: it stays unfinished. */
static int recover_directory(const struct store *store, const struct promotion_entry *entry,
			     enum txn_state *ret_state, struct error *err)
{
	/* A promotion that was done once is pending again only while it is taken back. */
	bool was_done = !is_state(entry, "pending");

	/* Killed before it was noted where it lies, it has left an empty directory at most. */
	if (!entry->directory) {
		owned(free_ptr) char *staging = xasprintf("staging/%s", entry->id);

		(void)unlinkat(store->fd, staging, AT_REMOVEDIR);
		return 0;
	}
	if (txn_match(entry->directory, entry->target, was_done, err) == 0 &&
	    txn_recover(entry->directory, ret_state, err) == 0)
		return 0;
	if (*ret_state == TXN_STUCK)
		return 0;
	*ret_state = TXN_NONE;
	return err->code == ERROR_NOT_FOUND && is_removed(store, entry) ? 0 : -1;
}

static void note_outcome(const struct promotion_entry *entry, struct strv *notes)
{
	if (notes)
		strv_addf(notes, "promotion %s to %s was interrupted and is %s now", entry->id,
			  entry->target, is_state(entry, "live") ? "done" : "taken back");
}

/* Reads the entry of a promotion that is locked. 1 read; 0 there is none: its mark is removed. */
static int read_locked(const struct store *store, const char *id, struct promotion_entry *ret_entry,
		       struct error *err)
{
	if (promotion_read(store, id, ret_entry, err) == 0)
		return 1;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	promotion_drop(store, id);
	return 0;
}

/* 0: nothing is left to be done, or another process works on it. -1: it stays unfinished; ERR has the reason. */
static int recover_one(const struct store *store, const char *id, struct strv *notes,
		       struct error *err)
{
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };
	enum txn_state state = TXN_NONE;
	struct error why = { 0 }, saving = { 0 };
	owned(fd_close) int lock_fd = -1;
	int status;

	if (promotion_lock(store, id, &lock_fd, &why) < 0 && why.code != ERROR_NOT_FOUND) {
		*err = why;
		return why.code == ERROR_CONFLICT ? 0 : -1;
	}
	status = read_locked(store, id, &entry, &why);
	if (status > 0 && recover_directory(store, &entry, &state, &why) < 0)
		status = -1;
	if (status < 0)
		*err = why;
	if (status <= 0)
		return status;
	status = settle_state(store, &entry, state, err);
	if (status != 0)
		return status < 0 ? -1 : 0;
	if (is_state(&entry, "stuck")) {
		*err = why;
		(void)promotion_save(store, &entry, true, &saving);
		return -1;
	}
	note_outcome(&entry, notes);
	return promotion_save(store, &entry, false, err);
}

static int list_pending(const struct store *store, struct strv *ret_ids, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, "promotions/pending");
	struct dirent *entry;
	int more;

	if (!dir && errno == ENOENT)
		return 0;
	while ((more = dir_next(dir, &entry)) > 0)
		if (strlen(entry->d_name) == LAYER_ID_SIZE - 1)
			strv_add(ret_ids, entry->d_name);
	return more < 0 ? error_errno(err, ERROR_HOST, "unfinished promotions") : 0;
}

int promotion_recover(const struct store *store, struct strv *ret_notes, struct error *err)
{
	owned(strv_done) struct strv ids = STRV_INIT;

	if (list_pending(store, &ids, err) < 0)
		return -1;
	/* One that stays unfinished is in the way of its own target only. */
	for (size_t i = 0; i < ids.count; i++) {
		struct error why = { 0 };

		if (recover_one(store, ids.items[i], ret_notes, &why) < 0 && ret_notes)
			strv_addf(ret_notes, "promotion %s is unfinished: %s", ids.items[i],
				  why.text);
	}
	return 0;
}

int promotion_finish(const struct store *store, const char *id, struct error *err)
{
	struct error why = { 0 };

	if (recover_one(store, id, NULL, &why) == 0)
		return 0;
	*err = why;
	return error_context(err, "promotion %s is unfinished", id);
}

/* Whether one of the two lies in the other, or is it by another name: a link, a second mount. */
static bool is_same_place(const char *pending, const char *target)
{
	owned(free_ptr) char *real_pending = path_real(pending), *real_target = path_real(target);
	const char *a = real_pending ? real_pending : pending;
	const char *b = real_target ? real_target : target;
	struct stat st_a, st_b;

	return path_is_within(a, b) || path_is_within(b, a) ||
	       (stat(a, &st_a) == 0 && stat(b, &st_b) == 0 && st_a.st_dev == st_b.st_dev &&
		st_a.st_ino == st_b.st_ino);
}

int promotion_finish_target(const struct store *store, const char *target, struct error *err)
{
	owned(strv_done) struct strv ids = STRV_INIT;

	if (list_pending(store, &ids, err) < 0)
		return -1;
	for (size_t i = 0; i < ids.count; i++) {
		owned(promotion_entry_done) struct promotion_entry entry = { 0 };
		struct error why = { 0 };

		if (promotion_read(store, ids.items[i], &entry, &why) < 0) {
			if (why.code == ERROR_NOT_FOUND)
				continue;
			*err = why;
			return -1;
		}
		if (is_same_place(entry.target, target) &&
		    promotion_finish(store, ids.items[i], err) < 0)
			return -1;
	}
	return 0;
}
