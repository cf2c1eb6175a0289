/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an object still is what a transaction noted of it. */
#include "workspace/txn/txn_parts.h"

#include <sys/stat.h>

bool txn_is_same(const struct txn *txn, const struct txn_identity *a, const struct txn_identity *b)
{
	if (!a->exists || !b->exists)
		return false;
	return a->ino == b->ino && (!a->btime_ns || !b->btime_ns || a->btime_ns == b->btime_ns) &&
	       (a->mode & S_IFMT) == (b->mode & S_IFMT) && (!txn->is_same_boot || a->dev == b->dev);
}

bool txn_is_unchanged(const struct txn *txn, const struct txn_item *item,
		      const struct txn_identity *want, const struct txn_identity *got)
{
	if (!txn_is_same(txn, want, got))
		return false;
	/* A directory that moves takes along what it is. */
	if (S_ISDIR(want->mode) && item->kind == TXN_MOVE)
		return true;
	if (want->mode != got->mode || want->uid != got->uid || want->gid != got->gid)
		return false;
	/* Of a directory the sum over what is below counts; some filesystems change its time when it gets another parent. */
	return S_ISDIR(want->mode) || (want->size == got->size && want->mtime_ns == got->mtime_ns);
}

bool txn_is_intact(const struct txn *txn, const struct txn_item *item,
		   const struct txn_identity *want, int dir_fd, const char *name)
{
	struct txn_identity got;
	uint64_t tree;

	txn_identity_of(dir_fd, name, &got);
	if (!txn_is_unchanged(txn, item, want, &got))
		return false;
	if (!S_ISDIR(want->mode) || !want->tree || item->has_inner || item->kind == TXN_MOVE)
		return true;
	return txn_tree_of(dir_fd, name, &tree) == 0 && tree == want->tree;
}
