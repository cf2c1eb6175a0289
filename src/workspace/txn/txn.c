/* SPDX-License-Identifier: Apache-2.0 */
/* A transaction from its plan to DONE. */
#include "base/core/own.h"
#include "workspace/store/store.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_lock.h"
#include "workspace/txn/txn_mount.h"
#include "workspace/txn/txn_orphan.h"
#include "workspace/txn/txn_lease.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

void txn_item_init(struct txn_item *item)
{
	*item = (struct txn_item){
		.parent = TXN_NONE_INDEX,
		.to_parent = TXN_NONE_INDEX,
		.lease_fd = -1,
	};
}

void txn_init(struct txn *txn)
{
	*txn = (struct txn){
		.dir_fd = -1,
		.base_fd = -1,
		.root_fd = -1,
		.swapped_fd = -1,
		.journal = { .fd = -1 },
		.recent_parents = { TXN_NONE_INDEX, TXN_NONE_INDEX },
	};
}

void txn_done(struct txn *txn)
{
	txn_lease_drop(txn);
	txn_where_done(txn);
	for (size_t i = 0; i < txn->count; i++) {
		free(txn->items[i].path);
		free(txn->items[i].to);
		txn_attributes_done(&txn->items[i].old_meta);
		txn_attributes_done(&txn->items[i].new_meta);
	}
	for (size_t i = 0; i < txn->place_count; i++) {
		free(txn->places[i].path);
		fd_close(&txn->places[i].fd);
	}
	for (size_t i = 0; i < txn->time_count; i++)
		free(txn->times[i].path);
	free(txn->times);
	free(txn->items);
	free(txn->places);
	strv_done(&txn->beside);
	journal_close(&txn->journal);
	free(txn->id);
	free(txn->digest);
	free(txn->owner);
	free(txn->root);
	free(txn->directory);
	fd_close(&txn->dir_fd);
	fd_close(&txn->base_fd);
	fd_close(&txn->root_fd);
	fd_close(&txn->swapped_fd);
}

static void copy_attributes(const struct txn_meta *from, struct txn_attributes *to)
{
	*to = (struct txn_attributes){
		.mode = from->mode & 07777,
		.uid = from->uid,
		.gid = from->gid,
		.mtime_ns = from->mtime_ns,
		.has_xattrs = from->xattrs,
	};
	for (size_t i = 0; from->xattrs && i < from->xattrs->count; i++) {
		const struct xattr_item *item = &from->xattrs->items[i];

		to->xattrs.items = xrealloc(to->xattrs.items, i + 1, sizeof(*item));
		to->xattrs.items[i] = (struct xattr_item){ xstrdup(item->name),
							   xmalloc(item->len + 1), item->len };
		memcpy(to->xattrs.items[i].value, item->value, item->len);
		to->xattrs.count = i + 1;
	}
}

static int add_op(struct txn *txn, const struct txn_plan *plan, size_t index, struct error *err)
{
	const struct txn_op *op = &plan->ops[index];
	struct txn_item *item = &txn->items[txn->count++];
	bool is_root = op->kind == TXN_META && !*op->path;

	txn_item_init(item);
	item->kind = op->kind;
	item->path = xstrdup(op->path);
	item->to = xstrdup(op->kind == TXN_MOVE ? op->to : "");
	item->old = op->old;
	/* Names that an earlier attempt made and took back moved it. */
	if (txn->has_shared)
		item->old.ctime_ns = 0;
	item->plan_index = index;
	if (op->kind == TXN_META)
		copy_attributes(&op->new_meta, &item->new_meta);
	if ((!is_root && !txn_path_is_clean(op->path)) ||
	    (op->kind == TXN_MOVE && !txn_path_is_clean(op->to)))
		return error_set(err, ERROR_INPUT, "a path that leaves its tree");
	if (op->old.exists != (op->kind != TXN_ADD))
		return error_set(err, ERROR_INTERNAL, "'%s': the plan contradicts itself",
				 op->path);
	return 0;
}

/* Renames in the order of the plan, attributes of directories behind them. */
int txn_add_ops(struct txn *txn, const struct txn_plan *plan, struct error *err)
{
	txn->items = xcalloc(plan->count + 1, sizeof(*txn->items));
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < plan->count; i++) {
			if ((plan->ops[i].kind == TXN_META) == (pass == 1) &&
			    add_op(txn, plan, i, err) < 0)
				return -1;
		}
	}
	return txn_where_prepare(txn, err);
}

int txn_open_target(struct txn *txn, const struct txn_plan *plan, struct error *err)
{
	struct txn_identity root;

	if (txn_lock_root(plan->target.root, &txn->root_fd, err) < 0 ||
	    store_boot_id(txn->boot_id, err) < 0)
		return -1;
	if (txn_identity_of(txn->root_fd, "", &root) < 0)
		return error_errno(err, ERROR_HOST, "%s", plan->target.root);
	txn->root = mount_path_of(txn->root_fd);
	if (!txn->root)
		return error_errno(err, ERROR_HOST, "cannot tell the path of target '%s'",
				   plan->target.root);
	txn->root_dev = root.dev;
	txn->root_ino = root.ino;
	txn->root_btime_ns = root.btime_ns;
	txn->is_same_boot = true;
	txn->store_staging = plan->target.store_staging;
	txn->id = xstrdup(plan->id);
	txn->digest = xstrdup(plan->digest ? plan->digest : "");
	txn->owner = xstrdup(plan->owner ? plan->owner : "");
	return 0;
}

static int check_space(const struct txn *txn, const struct txn_plan *plan, struct error *err)
{
	struct statvfs fs;

	if (fstatvfs(txn->root_fd, &fs) < 0)
		return error_errno(err, ERROR_HOST, "target '%s'", txn->root);
	if (plan->bytes / fs.f_frsize > fs.f_bavail)
		return error_set(err, ERROR_HOST, "target '%s': %llu bytes do not fit", txn->root,
				 (unsigned long long)plan->bytes);
	if (fs.f_files > 0 && plan->count > fs.f_favail)
		return error_set(err, ERROR_HOST, "target '%s': no inodes left", txn->root);
	return 0;
}

static size_t item_of_op(const struct txn *txn, size_t op)
{
	for (size_t i = 0; i < txn->count; i++) {
		if (txn->items[i].plan_index == op)
			return i;
	}
	return TXN_NONE_INDEX;
}

static int find_staged(const struct txn_stage *stage, size_t op, int *ret_fd,
		       char ret_name[static TXN_STAGED_NAME_SIZE])
{
	struct txn *txn = stage->within;
	int fd;

	if (txn_slot(txn, item_of_op(txn, op), false, &fd, ret_name) < 0)
		return -1;
	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *ret_fd < 0 ? -1 : 0;
}

/* Linking a host file to another name changed its ctime: that was this transaction, not a concurrent edit. */
static void forgive_link(const struct txn_stage *stage, const struct txn_identity *linked)
{
	struct txn *txn = stage->within;

	txn->has_shared = true;
	for (size_t i = 0; i < txn->count; i++) {
		struct txn_identity *old = &txn->items[i].old;

		if (old->exists && old->ino == linked->ino && old->dev == linked->dev)
			old->ctime_ns = 0;
	}
}

static int stage_item(struct txn *txn, const struct txn_plan *plan, size_t index, struct error *err)
{
	struct txn_item *item = &txn->items[index];
	const struct txn_op *op = &plan->ops[item->plan_index];
	char name[TXN_NAME_SIZE];
	struct txn_stage stage = {
		.name = name, .shares = forgive_link, .find = find_staged, .within = txn
	};
	int fd;

	if (item->kind != TXN_ADD && item->kind != TXN_REPLACE)
		return 0;
	if (txn_slot(txn, index, false, &fd, name) < 0)
		return error_errno(err, ERROR_HOST, "'%s'", item->path);
	stage.fd = fd;
	if (plan->stage(op, &stage, plan->cookie, err) < 0)
		return -1;
	txn_identity_of(fd, name, &item->new);
	if (!item->new.exists)
		return error_set(err, ERROR_INTERNAL, "'%s' was not staged", item->path);
	if (S_ISDIR(item->new.mode) && txn_tree_of(fd, name, &item->new.tree) < 0)
		return error_errno(err, ERROR_HOST, "'%s'", item->path);
	return 0;
}

/* From an empty directory to a durable PREPARED. */
static int prepare(struct txn *txn, const struct txn_plan *plan, struct error *err)
{
	if (plan->begun && plan->begun(txn->directory, plan->cookie, err) < 0)
		return -1;
	if (!txn->store_staging || !str_starts(txn->directory, txn->store_staging))
		txn_note_store(txn->dir_fd, txn->store_staging);
	if (journal_create(txn->dir_fd, &txn->journal) < 0)
		return error_errno(err, ERROR_HOST, "cannot make a journal in '%s'",
				   txn->directory);
	txn_log_begin(txn);
	if (txn_place_all(txn, err) < 0)
		return -1;
	for (size_t i = 0; i < txn->count; i++) {
		if (stage_item(txn, plan, i, err) < 0)
			return -1;
	}
	if (txn_sync_staged(txn) < 0)
		return error_errno(err, ERROR_HOST, "cannot sync what was staged");
	txn_log_items(txn);
	if (journal_write(&txn->journal, false) < 0 || txn_sync_journal(txn) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the journal of '%s'",
				   txn->directory);
	txn->last = JOURNAL_PREPARED;
	return 0;
}

static int commit(struct txn *txn, struct txn_result *result, struct error *err)
{
	bool is_stuck;
	size_t item;

	if (txn_check_again(txn, result, err) < 0)
		return -1;
	txn_lease_all(txn, true, result);
	if (result->conflict_count > 0)
		return txn_conflict_error(result, err);
	if (txn_log_end(txn, JOURNAL_COMMIT) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the journal of '%s'",
				   txn->directory);
	if (txn_apply_all(txn, true, &item, &is_stuck) < 0) {
		const char *kind = txn_conflict_kind(txn, item);

		txn->is_stuck = is_stuck;
		error_errno(err, ERROR_HOST, "'%s'",
			    item == TXN_NONE_INDEX ? txn->root : txn->items[item].path);
		if (!kind)
			return -1;
		txn_conflict_add(result, txn, item, kind);
		return txn_conflict_error(result, err);
	}
	if (txn_log_end(txn, JOURNAL_DONE) < 0) {
		error_errno(err, ERROR_HOST, "cannot write the journal of '%s'", txn->directory);
		/* Should the reversal be cut short, recovery goes on with it. */
		(void)txn_log_end(txn, JOURNAL_ABORT);
		txn->is_stuck = txn_apply_all(txn, false, &item, &is_stuck) < 0;
		return -1;
	}
	return 0;
}

/* Everything but the lock: the answer is given when nothing of a failed one is left. */
static int run_locked(struct txn *txn, const struct txn_plan *plan, struct txn_result *result,
		      struct error *err)
{
	owned(strv_done) struct strv bases = STRV_INIT;
	struct error ignored;

	if (txn_place_bases(txn, &plan->target, &bases, err) < 0)
		return -1;
	for (size_t i = 0; i < bases.count; i++) {
		if (txn_recover_others(txn, plan, bases.items[i], err) < 0)
			return -1;
	}
	if (txn_add_ops(txn, plan, err) < 0 || check_space(txn, plan, err) < 0 ||
	    txn_check_plan(txn, result, err) < 0 || txn_place_begin(txn, &bases, err) < 0)
		return -1;
	if (prepare(txn, plan, err) == 0 && commit(txn, result, err) == 0) {
		result->directory = xstrdup(txn->directory);
		return 0;
	}
	result->is_left = true;
	if (txn->is_stuck)
		return error_context(err,
				     "promotion %s is unfinished (the next aisbx command finishes "
				     "or reverses it)",
				     txn->id);
	result->is_left =
		txn_place_remove(txn, &ignored) < 0 && txn_place_remove(txn, &ignored) < 0;
	return -1;
}

struct attempt {
	bool is_swap, is_beside;
	bool has_shared; /* this one, or the one before, linked to files of the target */
};

static int run_once(const struct txn_plan *plan, struct attempt *attempt, struct txn_result *result,
		    struct error *err)
{
	owned(txn_done) struct txn txn;

	txn_init(&txn);
	txn.is_swap = attempt->is_swap;
	txn.is_forced_beside = attempt->is_beside;
	txn.has_shared = attempt->has_shared;
	if (txn_open_target(&txn, plan, err) < 0)
		return -1;
	int status = run_locked(&txn, plan, result, err);

	attempt->has_shared = txn.has_shared;
	return status;
}

int txn_run_plain(const struct txn_plan *plan, bool is_swap, struct txn_result *result,
		  struct error *err)
{
	struct attempt attempt = { .is_swap = is_swap };
	int status = run_once(plan, &attempt, result, err);

	/* Between directories with different keys or quotas nothing can be renamed: then the slots lie beside. */
	attempt.is_beside = true;
	if (status < 0 && err->errnum == EXDEV && !result->is_left && result->conflict_count == 0)
		status = run_once(plan, &attempt, result, err);
	return status;
}

int txn_run(const struct txn_plan *plan, struct txn_result *ret_result, struct error *err)
{
	*ret_result = (struct txn_result){ 0 };
	if (plan->count == 0)
		return 0;
	return plan->target.swap ? txn_swap(plan, ret_result, err)
				 : txn_run_plain(plan, false, ret_result, err);
}
