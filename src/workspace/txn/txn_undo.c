/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a finished transaction back, forgetting it. */
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_lock.h"
#include "workspace/txn/txn_lease.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum txn_state txn_state_from(enum journal_type last)
{
	switch (last) {
	case JOURNAL_PREPARED:
		return TXN_PREPARED;
	case JOURNAL_COMMIT:
		return TXN_COMMITTED;
	case JOURNAL_DONE:
		return TXN_DONE;
	case JOURNAL_ABORT:
	case JOURNAL_ROLLEDBACK:
		return TXN_ABORTED;
	case JOURNAL_UNDO:
		return TXN_UNDOING;
	case JOURNAL_UNDONE:
		return TXN_UNDONE;
	case JOURNAL_BEGIN:
	case JOURNAL_PLACE:
	case JOURNAL_BESIDE:
	case JOURNAL_OP:
	case JOURNAL_GONE:
	case JOURNAL_TIME:
		break;
	}
	return TXN_NONE;
}

/* The root must be the directory it was; a tree moved elsewhere and another one in its place is none of ours. */
static int open_root(struct txn *txn, struct error *err)
{
	struct txn_identity root;

	if (txn_lock_root(txn->root, &txn->root_fd, err) < 0)
		return -1;
	if (txn_identity_of(txn->root_fd, "", &root) < 0)
		return error_errno(err, ERROR_HOST, "target '%s'", txn->root);
	/* Numbers of removed inodes are used again. */
	bool is_born_then = !txn->root_btime_ns || txn->root_btime_ns == root.btime_ns;

	if (root.ino != txn->root_ino || !is_born_then ||
	    (txn->is_same_boot && root.dev != txn->root_dev)) {
		error_set(err, ERROR_CONFLICT, "'%s' is not the directory it was", txn->root);
		return error_add_hint(err, "put that back, or remove '%s' to give the promotion up",
				      txn->directory);
	}
	return 0;
}

/* A target that is exchanged whole is locked itself, too: other promotions know it by that. */
static int lock_swapped(struct txn *txn, struct error *err)
{
	owned(free_ptr) char *path = xasprintf(
		"%s/%s", strcmp(txn->root, "/") == 0 ? "" : txn->root, txn->items[0].path);

	return access(path, F_OK) < 0 ? 0 : txn_lock_root(path, &txn->swapped_fd, err);
}

int txn_open_locked(struct txn *txn, const char *directory, struct error *err)
{
	if (txn_place_open(txn, directory, err) < 0)
		return -1;
	/* Of what never began nothing is known but the directory. */
	if (!txn->root)
		return 0;
	/* In the order in which a promotion takes them. */
	if (txn->is_swap && txn->count == 1 && lock_swapped(txn, err) < 0)
		return -1;
	if (open_root(txn, err) < 0) {
		enum txn_state state = txn_state_from(txn->last);
		bool is_needed =
			(state != TXN_NONE && state != TXN_PREPARED) || txn->beside.count > 0;

		fd_close(&txn->root_fd);
		if (is_needed)
			return -1;
	}
	return txn_where_prepare(txn, err);
}

/* The direction failed and everything is as it was before: so must the journal be. */
static int give_up(struct txn *txn, uint64_t len, uint64_t seq, enum journal_type last,
		   struct txn_result *result)
{
	int saved = errno;

	result->is_left = journal_cut(&txn->journal, len, seq) < 0;
	txn->last = last;
	errno = saved;
	return -1;
}

static int stay_stuck(const struct txn *txn, struct txn_result *result, struct error *err)
{
	result->is_left = true;
	return error_context(
		err, "the undo of promotion %s is unfinished (the next aisbx command finishes it)",
		txn->id);
}

static int failed(const struct txn *txn, size_t item, struct txn_result *result, struct error *err)
{
	const char *kind = txn_conflict_kind(txn, item);

	if (!kind)
		return error_errno(err, ERROR_HOST, "'%s'",
				   item == TXN_NONE_INDEX ? txn->directory : txn->items[item].path);
	txn_conflict_add(result, txn, item, kind);
	return txn_conflict_error(result, err);
}

/* Targets are what the transaction made of them, and nothing writes to them from here on. */
static int check_targets(struct txn *txn, const struct txn_check *check, struct txn_result *result,
			 struct error *err)
{
	owned(strv_done) struct strv changed = STRV_INIT;

	if (txn_check_reversal(txn, result, err) < 0)
		return -1;
	txn_lease_all(txn, false, result);
	if (result->conflict_count == 0 && check &&
	    check->find_changed(check->cookie, &changed, err) < 0)
		return -1;
	for (size_t i = 0; i < changed.count; i++)
		txn_conflict_add_path(result, changed.items[i], "changed");
	return result->conflict_count > 0 ? txn_conflict_error(result, err) : 0;
}

static int take_back(struct txn *txn, const struct txn_check *check, struct txn_result *result,
		     struct error *err)
{
	uint64_t len = txn->journal.len, seq = txn->journal.seq;
	enum journal_type last = txn->last;
	bool is_stuck;
	size_t item;

	if (check_targets(txn, check, result, err) < 0)
		return -1;
	txn_times_find(txn);
	if (txn_log_end(txn, JOURNAL_UNDO) < 0) {
		(void)give_up(txn, len, seq, last, result);
		return error_errno(err, ERROR_HOST, "cannot write the journal of '%s'",
				   txn->directory);
	}
	if (txn_apply_all(txn, false, &item, &is_stuck) < 0) {
		failed(txn, item, result, err);
		return is_stuck ? stay_stuck(txn, result, err)
				: give_up(txn, len, seq, last, result);
	}
	txn_times_restore(txn);
	if (txn_log_end(txn, JOURNAL_UNDONE) < 0) {
		error_errno(err, ERROR_HOST, "cannot write the journal of '%s'", txn->directory);
		if (txn_apply_all(txn, true, &item, &is_stuck) < 0)
			return stay_stuck(txn, result, err);
		return give_up(txn, len, seq, last, result);
	}
	return 0;
}

int txn_undo(const char *directory, const struct txn_check *check, struct txn_result *ret_result,
	     struct error *err)
{
	owned(txn_done) struct txn txn;
	enum txn_state state;

	*ret_result = (struct txn_result){ 0 };
	txn_init(&txn);
	if (txn_open_locked(&txn, directory, err) < 0)
		return -1;
	state = txn_state_from(txn.last);
	/* Recovery would remove a transaction that never began; an undo is asked for one that was done. */
	if (state != TXN_NONE && state != TXN_PREPARED && txn_recover_locked(&txn, &state, err) < 0)
		return -1;
	if (state != TXN_DONE)
		return error_set(err, ERROR_CONFLICT, "promotion %s is %s",
				 txn.id ? txn.id : directory,
				 state == TXN_UNDONE ? "undone already" : "not in force");
	if (take_back(&txn, check, ret_result, err) < 0)
		return -1;
	ret_result->directory = xstrdup(directory);
	return 0;
}

int txn_forget(const char *directory, struct error *err)
{
	owned(txn_done) struct txn txn;
	enum txn_state state;

	txn_init(&txn);
	if (txn_place_open(&txn, directory, err) < 0)
		return -1;
	state = txn_state_from(txn.last);
	if (state == TXN_COMMITTED || state == TXN_UNDOING || txn.last == JOURNAL_ABORT)
		return error_set(err, ERROR_CONFLICT, "promotion %s is not finished", txn.id);
	/* Slots beside their targets are found from the root; where that is gone, so are they. */
	if (txn.beside.count > 0 && open_root(&txn, err) < 0)
		fd_close(&txn.root_fd);
	if (txn_where_prepare(&txn, err) < 0)
		return -1;
	for (size_t i = 0; i < txn.count; i++)
		txn.items[i].is_new = state == TXN_DONE;
	return txn_place_remove(&txn, err);
}
