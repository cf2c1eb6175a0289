/* SPDX-License-Identifier: Apache-2.0 */
/* How far each item got, from the identities of what is at its path and in its slot. */
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <string.h>

/* What is at an item's path (and destination), in its slot, and in the slot's backup. */
struct looked {
	struct txn_identity path, to, slot, backup;
};

/* Whether errno means that a directory is gone, which is an answer; everything else is an error. */
static bool is_gone(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV;
}

static int look_at_slot(struct txn *txn, size_t item, bool as_backup,
			struct txn_identity *ret_identity)
{
	char slot[TXN_NAME_SIZE];
	int fd;

	if (txn_slot(txn, item, as_backup, &fd, slot) < 0)
		return is_gone() ? 0 : -1;
	return txn_identity_of(fd, slot, ret_identity);
}

static int look_at_path(struct txn *txn, size_t item, bool to, struct txn_identity *ret_identity)
{
	const char *name;
	int fd;

	if (txn_where(txn, item, to, &fd, &name) < 0)
		return is_gone() ? 0 : -1;
	return txn_identity_of(fd, name, ret_identity);
}

/* 0, or -1 with errno when it cannot be determined. */
static int look(struct txn *txn, size_t item, struct looked *ret_looked)
{
	*ret_looked = (struct looked){ 0 };
	if (look_at_path(txn, item, false, &ret_looked->path) < 0)
		return -1;
	if (txn->items[item].kind == TXN_MOVE)
		return look_at_path(txn, item, true, &ret_looked->to);
	return look_at_slot(txn, item, false, &ret_looked->slot);
}

bool txn_is_ours(const struct txn *txn, size_t item, const char *path,
		 const struct txn_identity *got)
{
	for (size_t i = 0; i < txn->count; i++) {
		const struct txn_item *other = &txn->items[i];

		if (i == item || other->kind == TXN_META)
			continue;
		if (strcmp(other->path, path) == 0 &&
		    (txn_is_same(txn, &other->old, got) || txn_is_same(txn, &other->new, got)))
			return true;
		if (other->kind == TXN_MOVE && strcmp(other->to, path) == 0 &&
		    txn_is_same(txn, &other->old, got))
			return true;
	}
	return false;
}

/* Whether a path that should be free is taken by something else. */
static bool is_taken(const struct txn *txn, const struct txn_item *item, const char *path,
		     const struct txn_identity *got)
{
	return got->exists && !txn_is_ours(txn, (size_t)(item - txn->items), path, got);
}

/* Whether what is at the path is the object of one side, untouched down to the last file below. */
static bool is_at_path(struct txn *txn, const struct txn_item *item, const struct looked *at,
		       const struct txn_identity *want)
{
	const char *name;
	int fd;

	if (!txn_is_unchanged(txn, item, want, &at->path))
		return false;
	if (!S_ISDIR(want->mode))
		return true;
	return txn_where(txn, (size_t)(item - txn->items), false, &fd, &name) == 0 &&
	       txn_is_intact(txn, item, want, fd, name);
}

static enum txn_progress replace_progress(struct txn *txn, const struct txn_item *item,
					  const struct looked *at)
{
	if (txn_is_same(txn, &item->new, &at->slot))
		return is_at_path(txn, item, at, &item->old) ? PROGRESS_OLD : PROGRESS_OLD_CHANGED;
	if (txn_is_same(txn, &item->old, &at->slot))
		return is_at_path(txn, item, at, &item->new) ? PROGRESS_NEW : PROGRESS_NEW_CHANGED;
	return PROGRESS_LOST;
}

static enum txn_progress add_progress(struct txn *txn, const struct txn_item *item,
				      const struct looked *at)
{
	if (txn_is_same(txn, &item->new, &at->slot))
		return is_taken(txn, item, item->path, &at->path) ? PROGRESS_OLD_CHANGED
								  : PROGRESS_OLD;
	if (at->slot.exists)
		return PROGRESS_LOST;
	return is_at_path(txn, item, at, &item->new) ? PROGRESS_NEW : PROGRESS_NEW_CHANGED;
}

static enum txn_progress delete_progress(struct txn *txn, const struct txn_item *item,
					 const struct looked *at)
{
	if (txn_is_same(txn, &item->old, &at->slot))
		return is_taken(txn, item, item->path, &at->path) ? PROGRESS_NEW_CHANGED
								  : PROGRESS_NEW;
	if (at->slot.exists)
		return PROGRESS_LOST;
	return is_at_path(txn, item, at, &item->old) ? PROGRESS_OLD : PROGRESS_OLD_CHANGED;
}

static enum txn_progress move_progress(const struct txn *txn, const struct txn_item *item,
				       const struct looked *at)
{
	if (txn_is_same(txn, &item->old, &at->to)) {
		if (is_taken(txn, item, item->path, &at->path) ||
		    !txn_is_unchanged(txn, item, &item->old, &at->to))
			return PROGRESS_NEW_CHANGED;
		return PROGRESS_NEW;
	}
	if (txn_is_same(txn, &item->old, &at->path)) {
		if (is_taken(txn, item, item->to, &at->to) ||
		    !txn_is_unchanged(txn, item, &item->old, &at->path))
			return PROGRESS_OLD_CHANGED;
		return PROGRESS_OLD;
	}
	return PROGRESS_LOST;
}

/* In place and idempotent: half done is not done. */
static enum txn_progress meta_progress(struct txn *txn, size_t index)
{
	const struct txn_item *item = &txn->items[index];
	owned(fd_close) int fd = txn_where_directory(txn, index, O_PATH);
	struct txn_identity there = { 0 };

	if (fd < 0 && !is_gone())
		return PROGRESS_UNSEEN;
	if (fd >= 0 && txn_identity_of(fd, "", &there) < 0)
		return PROGRESS_UNSEEN;
	if (!txn_is_same(txn, &item->old, &there))
		return PROGRESS_LOST;
	bool is_new = (there.mode & 07777) == item->new_meta.mode &&
		      there.uid == item->new_meta.uid && there.gid == item->new_meta.gid;

	return is_new ? PROGRESS_NEW : PROGRESS_OLD;
}

enum txn_progress txn_progress(struct txn *txn, size_t index)
{
	const struct txn_item *item = &txn->items[index];
	struct looked at;

	if (item->kind == TXN_META)
		return meta_progress(txn, index);
	if (look(txn, index, &at) < 0)
		return PROGRESS_UNSEEN;
	switch (item->kind) {
	case TXN_REPLACE:
		return replace_progress(txn, item, &at);
	case TXN_ADD:
		return add_progress(txn, item, &at);
	case TXN_DELETE:
		return delete_progress(txn, item, &at);
	case TXN_MOVE:
		return move_progress(txn, item, &at);
	case TXN_META:
		break;
	}
	return PROGRESS_LOST;
}

/* A replacement by link and rename, cut short: see exchange_by_hand. */
static int settle_replace(struct txn *txn, size_t index, const struct looked *at)
{
	char slot[TXN_NAME_SIZE], backup[TXN_NAME_SIZE];
	const char *name;
	int fd, path_fd;

	if (!at->backup.exists)
		return 0;
	if (txn_slot(txn, index, false, &fd, slot) < 0 ||
	    txn_slot(txn, index, true, &fd, backup) < 0 ||
	    txn_where(txn, index, false, &path_fd, &name) < 0)
		return -1;
	if (txn_is_same(txn, &at->backup, &at->path))
		return sys_unlinkat(fd, backup, 0);
	if (!at->path.exists && at->slot.exists)
		return sys_renameat2(fd, backup, path_fd, name, 0);
	return at->slot.exists ? 0 : sys_renameat2(fd, backup, fd, slot, 0);
}

int txn_settle(struct txn *txn, size_t index)
{
	const struct txn_item *item = &txn->items[index];
	char slot[TXN_NAME_SIZE];
	struct looked at;
	const char *name;
	int fd;

	if (item->kind == TXN_META)
		return 0;
	if (look(txn, index, &at) < 0)
		return -1;
	if (item->kind == TXN_REPLACE && look_at_slot(txn, index, true, &at.backup) < 0)
		return -1;
	if (item->kind == TXN_REPLACE)
		return settle_replace(txn, index, &at);
	/* Without a rename that refuses to replace there were, for a moment, two names. */
	if (item->kind == TXN_MOVE) {
		if (!txn_is_same(txn, &item->old, &at.to) || !txn_is_same(txn, &at.path, &at.to))
			return 0;
		return txn_where(txn, index, true, &fd, &name) < 0 ? -1 : sys_unlinkat(fd, name, 0);
	}
	if (!txn_is_same(txn, &at.path, &at.slot) || txn_slot(txn, index, false, &fd, slot) < 0)
		return 0;
	return sys_unlinkat(fd, slot, 0);
}
