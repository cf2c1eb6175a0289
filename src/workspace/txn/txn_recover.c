/* SPDX-License-Identifier: Apache-2.0 */
/* Finishing or reversing what a killed process left. */
#include "base/file/dir.h"
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_lock.h"
#include "workspace/txn/txn_parts.h"
#include "workspace/txn/txn_trust.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Which directions are open: every item can be brought there, or is there already. */
struct ways {
	bool forward, back;
	size_t hinders; /* the last item that closed one */
};

static void assume_first(struct txn *txn, size_t count)
{
	for (size_t i = 0; i < txn->count; i++)
		txn->items[i].is_new = false;
	for (size_t i = 0; i < count; i++)
		txn->items[txn->inner[i]].is_new = true;
	txn_where_close(txn);
}

/* How an item stands, after what was cut short in its middle is settled. */
static enum txn_progress settled_progress(struct txn *txn, size_t item)
{
	return txn_settle(txn, item) < 0 ? PROGRESS_UNSEEN : txn_progress(txn, item);
}

/* 1 or 0, or -1 with errno when its directory cannot be opened. */
static int stands_as_assumed(struct txn *txn, size_t inner)
{
	size_t item = txn->inner[inner];
	enum txn_progress progress = settled_progress(txn, item);

	if (progress == PROGRESS_UNSEEN)
		return -1;
	return progress != PROGRESS_LOST &&
	       (progress == PROGRESS_NEW || progress == PROGRESS_NEW_CHANGED) ==
		       txn->items[item].is_new;
}

/* Whether the first COUNT of them being new fits all; those at the border first. -1 with errno. */
static int fits(struct txn *txn, size_t count)
{
	int fit = 1;

	assume_first(txn, count);
	if (count > 0)
		fit = stands_as_assumed(txn, count - 1);
	if (fit == 1 && count < txn->inner_count)
		fit = stands_as_assumed(txn, count);
	for (size_t i = 0; i < txn->inner_count && fit == 1; i++)
		fit = stands_as_assumed(txn, i);
	return fit;
}

/*
 * Items that others lie in must be known before the others can be found. They are brought over in order, so the first few
 * of them are new: the number is the one with which all stand as they should. -1 with errno.
 */
static int find_inner_state(struct txn *txn)
{
	for (size_t count = 0; count <= txn->inner_count; count++) {
		int fit = fits(txn, count);

		if (fit != 0)
			return fit < 0 ? -1 : 0;
	}
	assume_first(txn, 0);
	return 0;
}

/* -1 with errno when something cannot be looked at. */
static int find_ways(struct txn *txn, struct ways *ret_ways)
{
	*ret_ways = (struct ways){ .forward = true, .back = true, .hinders = TXN_NONE_INDEX };
	if (find_inner_state(txn) < 0)
		return -1;
	for (size_t i = 0; i < txn->count; i++) {
		struct txn_item *item = &txn->items[i];
		enum txn_progress progress = settled_progress(txn, i);

		if (progress == PROGRESS_UNSEEN)
			return -1;
		item->is_new = progress == PROGRESS_NEW || progress == PROGRESS_NEW_CHANGED;
		if (progress == PROGRESS_OLD_CHANGED || progress == PROGRESS_LOST)
			ret_ways->forward = false;
		if (progress == PROGRESS_NEW_CHANGED || progress == PROGRESS_LOST)
			ret_ways->back = false;
		if (progress != PROGRESS_OLD && progress != PROGRESS_NEW)
			ret_ways->hinders = i;
	}
	return 0;
}

static int bring(struct txn *txn, bool forward, enum journal_type end, struct error *err)
{
	size_t item;
	bool is_stuck;

	/* Attributes may be half changed, and are set again in any case. */
	for (size_t i = 0; i < txn->count; i++) {
		if (txn->items[i].kind == TXN_META)
			txn->items[i].is_new = !forward;
	}
	for (size_t i = 0; i < txn->parent_count; i++)
		txn->parents[i].is_touched = false;
	if (txn_apply_all(txn, forward, &item, &is_stuck) < 0)
		return error_errno(err, ERROR_HOST, "cannot %s '%s'",
				   forward ? "finish" : "reverse",
				   item == TXN_NONE_INDEX ? txn->directory : txn->items[item].path);
	/* What was brought over before the kill may not be on the disk. */
	if (sys_syncfs(txn->root_fd) < 0 || txn_log_end(txn, end) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the journal of '%s'",
				   txn->directory);
	return 0;
}

static int stuck(const struct txn *txn, const struct ways *ways, enum txn_state *ret_state,
		 struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	*ret_state = TXN_STUCK;
	error_set(err, ERROR_CONFLICT,
		  "promotion %s was cut short and '%s' was changed since; both versions are kept "
		  "in '%s'",
		  txn->id,
		  str_shown(ways->hinders == TXN_NONE_INDEX ? "" : txn->items[ways->hinders].path,
			    shown),
		  txn->directory);
	return error_add_hint(err, "take what you need, then remove '%s' to give the promotion up",
			      txn->directory);
}

/* Back to before it began, and nothing of it left. */
static int reverse_all(struct txn *txn, enum txn_state *ret_state, struct error *err)
{
	if (txn->last == JOURNAL_COMMIT && txn_log_end(txn, JOURNAL_ABORT) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the journal of '%s'",
				   txn->directory);
	if (bring(txn, false, JOURNAL_ROLLEDBACK, err) < 0)
		return -1;
	*ret_state = TXN_ABORTED;
	return txn_place_remove(txn, err);
}

static int go_on(struct txn *txn, enum txn_state *ret_state, struct error *err)
{
	enum journal_type from = txn->last;
	struct ways ways;

	if (find_ways(txn, &ways) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at what promotion %s did",
				   txn->id);
	if (from == JOURNAL_ABORT)
		return ways.back ? reverse_all(txn, ret_state, err)
				 : stuck(txn, &ways, ret_state, err);
	bool forward = from == JOURNAL_UNDO ? !ways.back : ways.forward;

	if (forward && ways.forward && bring(txn, true, JOURNAL_DONE, err) == 0) {
		*ret_state = TXN_DONE;
		return 0;
	}
	/* What cannot be finished (a filesystem that refuses the rename) can still be reversed. */
	if (!ways.back)
		return stuck(txn, &ways, ret_state, err);
	if (from == JOURNAL_COMMIT)
		return reverse_all(txn, ret_state, err);
	*ret_state = TXN_UNDONE;
	return bring(txn, false, JOURNAL_UNDONE, err);
}

int txn_recover_locked(struct txn *txn, enum txn_state *ret_state, struct error *err)
{
	*ret_state = txn_state_from(txn->last);
	switch (*ret_state) {
	case TXN_DONE:
	case TXN_UNDONE:
		return 0;
	case TXN_NONE:
	case TXN_PREPARED:
		*ret_state = TXN_NONE;
		return txn_place_remove(txn, err);
	case TXN_ABORTED:
		if (txn->last == JOURNAL_ROLLEDBACK)
			return txn_place_remove(txn, err);
		return go_on(txn, ret_state, err);
	case TXN_COMMITTED:
	case TXN_UNDOING:
	case TXN_STUCK:
		break;
	}
	return go_on(txn, ret_state, err);
}

int txn_recover(const char *directory, enum txn_state *ret_state, struct error *err)
{
	owned(txn_done) struct txn txn;

	txn_init(&txn);
	if (txn_open_locked(&txn, directory, err) < 0)
		return -1;
	return txn_recover_locked(&txn, ret_state, err);
}

/*
 * Whether the transaction NAME in BASE_FD may need something done; the cheap answer for the many that do not. -1 with
 * errno when that cannot be determined.
 */
static int is_unfinished(int base_fd, const char *name)
{
	owned(fd_close) int fd =
		openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	int last = journal_last(fd);

	return last != JOURNAL_DONE && last != JOURNAL_UNDONE && txn_lock_own(fd);
}

/* Locked by another process, gone meanwhile, or no transaction. */
static bool is_none_of_ours(const struct error *err)
{
	return err->code == ERROR_CONFLICT || err->code == ERROR_NOT_FOUND ||
	       err->code == ERROR_DENIED;
}

static int recover_one(const char *base, const char *name, const struct txn *mine,
		       const struct txn_plan *plan, struct error *err)
{
	owned(free_ptr) char *directory = xasprintf("%s/%s", base, name);
	owned(txn_done) struct txn txn;
	enum txn_state state;

	int is_known = plan->is_known ? plan->is_known(directory, plan->cookie, err) : 1;

	txn_init(&txn);
	if (is_known < 0)
		return -1;
	if (!is_known) {
		/* Killed before it was noted, a transaction has left an empty directory, and nothing else. */
		(void)unlinkat(AT_FDCWD, directory, AT_REMOVEDIR);
		return 0;
	}
	if (txn_place_open(&txn, directory, err) < 0)
		return is_none_of_ours(err) ? 0 : -1;
	if (txn.root && strcmp(txn.root, mine->root) != 0)
		return 0;
	if (txn.root && (txn.root_ino != mine->root_ino ||
			 (txn.root_btime_ns && txn.root_btime_ns != mine->root_btime_ns))) {
		error_set(err, ERROR_CONFLICT, "'%s' is not the directory that promotion %s was to",
			  mine->root, txn.id);
		return error_add_hint(err, "remove '%s' to give that up", directory);
	}
	txn.root_fd = txn.root ? fcntl(mine->root_fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (txn_where_prepare(&txn, err) < 0)
		return -1;
	return txn_recover_locked(&txn, &state, err);
}

/* Names of what lies in BASE_FD; 0, or -1 with errno. */
static int list_names(int base_fd, struct strv *ret_names)
{
	owned(dir_close) DIR *dir = dir_open(base_fd, ".");
	struct dirent *entry;
	int more;

	while ((more = dir_next(dir, &entry)) > 0) {
		if (entry->d_name[0] != '.')
			strv_add(ret_names, entry->d_name);
	}
	return more;
}

int txn_recover_others(const struct txn *mine, const struct txn_plan *plan, const char *base,
		       struct error *err)
{
	owned(fd_close) int fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(strv_done) struct strv names = STRV_INIT;

	/* What is no directory, or not ours to read, holds nothing of ours. */
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES))
		return 0;
	if (fd < 0 || list_names(fd, &names) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at '%s'", base);
	/* If other users can write to the directory, its journals are not trusted. */
	if (!txn_is_private(fd))
		return 0;
	for (size_t i = 0; i < names.count; i++) {
		int is_left = is_unfinished(fd, names.items[i]);

		if (is_left < 0)
			return error_errno(err, ERROR_HOST, "cannot look at '%s/%s'", base,
					   names.items[i]);
		if (is_left && recover_one(base, names.items[i], mine, plan, err) < 0)
			return -1;
	}
	return 0;
}
