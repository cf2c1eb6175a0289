/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing items over, forward or back, one rename each; and bringing them back when one fails. */
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_lease.h"
#include "workspace/txn/txn_parts.h"
#include "workspace/txn/txn_rename.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Path and slot of an item, and where it moves. */
struct ends {
	struct rename_end path, to, slot;
	char slot_name[TXN_NAME_SIZE], backup[TXN_NAME_SIZE];
};

static int find_ends(struct txn *txn, size_t index, struct ends *ret_ends)
{
	const struct txn_item *item = &txn->items[index];

	if (txn_where(txn, index, false, &ret_ends->path.fd, &ret_ends->path.name) < 0)
		return -1;
	txn->parents[item->parent].is_touched = true;
	if (item->kind == TXN_MOVE) {
		txn->parents[item->to_parent].is_touched = true;
		return txn_where(txn, index, true, &ret_ends->to.fd, &ret_ends->to.name);
	}
	ret_ends->slot.name = ret_ends->slot_name;
	if (txn_slot(txn, index, true, &ret_ends->slot.fd, ret_ends->backup) < 0)
		return -1;
	return txn_slot(txn, index, false, &ret_ends->slot.fd, ret_ends->slot_name);
}

/* The object did not belong where it was: it goes back, and the item counts as not touched. */
static int refuse(int back)
{
	if (back == 0)
		errno = ESTALE;
	return -1;
}

static int apply_replace(struct txn *txn, size_t index, bool forward, struct ends *ends)
{
	const struct txn_item *item = &txn->items[index];

	if (rename_exchange(ends->path, ends->slot, ends->backup) < 0)
		return -1;
	if (txn_is_intact(txn, item, forward ? &item->old : &item->new, ends->slot.fd,
			  ends->slot.name))
		return 0;
	return refuse(rename_exchange(ends->path, ends->slot, ends->backup));
}

/* From the tree into the slot. */
static int apply_take(struct txn *txn, size_t index, const struct txn_identity *want,
		      struct ends *ends)
{
	if (rename_to_free(ends->path, ends->slot) < 0)
		return -1;
	if (txn_is_intact(txn, &txn->items[index], want, ends->slot.fd, ends->slot.name))
		return 0;
	return refuse(rename_to_free(ends->slot, ends->path));
}

static int apply_move(struct txn *txn, size_t index, bool forward, struct ends *ends)
{
	struct rename_end from = forward ? ends->path : ends->to;
	struct rename_end to = forward ? ends->to : ends->path;

	if (rename_to_free(from, to) < 0)
		return -1;
	if (txn_is_intact(txn, &txn->items[index], &txn->items[index].old, to.fd, to.name))
		return 0;
	return refuse(rename_to_free(to, from));
}

/* Some filesystems touch a directory that gets another parent; it is to have the time it had. */
static int keep_time(const struct txn_item *item, bool forward, const struct ends *ends)
{
	const struct txn_identity *came =
		item->kind == TXN_MOVE || !forward ? &item->old : &item->new;
	struct rename_end at = item->kind == TXN_MOVE && forward ? ends->to : ends->path;
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = came->mtime_ns / 1000000000, .tv_nsec = came->mtime_ns % 1000000000 },
	};
	struct txn_identity there;

	if (!came->exists || !S_ISDIR(came->mode) || item->has_inner)
		return 0;
	txn_identity_of(at.fd, at.name, &there);
	if (there.mtime_ns == came->mtime_ns)
		return 0;
	/* Best effort: not every caller may set it. */
	if (sys_utimensat(at.fd, at.name, times, AT_SYMLINK_NOFOLLOW) < 0 && errno != EPERM &&
	    errno != EACCES)
		return -1;
	return 0;
}

static int rename_one(struct txn *txn, size_t index, bool forward, struct ends *ends)
{
	const struct txn_item *item = &txn->items[index];

	if (item->kind == TXN_REPLACE)
		return apply_replace(txn, index, forward, ends);
	if (item->kind == TXN_MOVE)
		return apply_move(txn, index, forward, ends);
	/* Adding is taking away backwards, and the other way round. */
	if ((item->kind == TXN_ADD) == forward)
		return rename_to_free(ends->slot, ends->path);
	return apply_take(txn, index, forward ? &item->old : &item->new, ends);
}

int txn_apply_one(struct txn *txn, size_t index, bool forward)
{
	const struct txn_item *item = &txn->items[index];
	struct ends ends;

	if (item->kind == TXN_META)
		return txn_meta_apply(txn, index, forward);
	if (find_ends(txn, index, &ends) < 0 || rename_one(txn, index, forward, &ends) < 0)
		return -1;
	return keep_time(item, forward, &ends);
}

/* One item, with the lease on what it displaced. */
static int apply_leased(struct txn *txn, size_t index, bool forward, bool goes_back)
{
	struct txn_item *item = &txn->items[index];

	if (txn_apply_one(txn, index, forward) < 0)
		return -1;
	item->is_new = forward;
	if (goes_back || !txn_lease_is_broken(item))
		return 0;
	errno = EBUSY;
	return -1;
}

/* Renames in order or, back, in reverse; attributes of directories last, since they may close them. */
static int bring_over(struct txn *txn, bool forward, const bool *only, size_t *ret_item)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < txn->count; i++) {
			size_t at = forward ? i : txn->count - 1 - i;

			if ((txn->items[at].kind == TXN_META) != (pass == 1) ||
			    txn->items[at].is_new == forward || (only && !only[at]))
				continue;
			*ret_item = at;
			if (apply_leased(txn, at, forward, only) < 0)
				return -1;
		}
	}
	*ret_item = TXN_NONE_INDEX;
	return 0;
}

/* A writer that was on its way when we displaced its file waits for the lease by now, or has it open. */
static int check_leases(struct txn *txn, bool forward, size_t *ret_item)
{
	for (size_t i = 0; i < txn->count; i++) {
		if (txn_lease_check(txn, i, forward, false) == 0)
			continue;
		*ret_item = i;
		return -1;
	}
	return 0;
}

static int go(struct txn *txn, bool forward, size_t *ret_item)
{
	*ret_item = TXN_NONE_INDEX;
	if (txn_meta_loosen(txn) < 0 || bring_over(txn, forward, NULL, ret_item) < 0)
		return -1;
	if (txn_where_check(txn, ret_item) < 0 || txn_sync_parents(txn) < 0)
		return -1;
	return check_leases(txn, forward, ret_item);
}

/*
 * Whether the item that failed is new: one that consists of several calls may have failed in the middle, and the check of
 * its directory comes after all of them. -1 when that cannot be seen, also at a second look.
 */
static int look_at_failed(struct txn *txn, size_t item)
{
	if (item == TXN_NONE_INDEX || txn->items[item].kind == TXN_META)
		return 0;
	for (int tries = 0; tries < 2; tries++) {
		enum txn_progress progress =
			txn_settle(txn, item) < 0 ? PROGRESS_UNSEEN : txn_progress(txn, item);

		if (progress == PROGRESS_UNSEEN)
			continue;
		txn->items[item].is_new =
			progress == PROGRESS_NEW || progress == PROGRESS_NEW_CHANGED;
		return 0;
	}
	return -1;
}

/* Takes back what went over; those that stood otherwise before stay as they are. */
static bool take_back(struct txn *txn, bool forward, const bool *was_there, size_t failed)
{
	bool *mine = xcalloc(txn->count + 1, sizeof(*mine));
	size_t failed_item;

	bool is_seen = look_at_failed(txn, failed) == 0;

	if (txn->last == JOURNAL_COMMIT)
		(void)txn_log_end(txn, JOURNAL_ABORT);
	for (size_t i = 0; i < txn->count; i++)
		mine[i] = txn->items[i].is_new == forward && !was_there[i];
	/* Attributes may be half changed: those that did not go over are set back as well. */
	for (size_t i = 0; i < txn->count; i++) {
		if (txn->items[i].kind != TXN_META || was_there[i])
			continue;
		txn->items[i].is_new = forward;
		mine[i] = true;
	}
	bool is_back = false;

	/* Whatever made it fail may be over by now, and nothing is lost by trying. */
	for (int tries = 0; tries < 2 && !is_back; tries++)
		is_back = txn_meta_loosen(txn) == 0 &&
			  bring_over(txn, !forward, mine, &failed_item) == 0 &&
			  txn_sync_parents(txn) == 0;

	free(mine);
	return is_back && is_seen;
}

int txn_apply_all(struct txn *txn, bool forward, size_t *ret_item, bool *ret_stuck)
{
	bool *was_there = xcalloc(txn->count + 1, sizeof(*was_there));
	int result, saved;

	for (size_t i = 0; i < txn->count; i++)
		was_there[i] = txn->items[i].is_new == forward;
	*ret_stuck = false;
	result = go(txn, forward, ret_item);
	saved = errno;
	if (result < 0)
		*ret_stuck = !take_back(txn, forward, was_there, *ret_item);
	free(was_there);
	errno = saved;
	return result;
}
