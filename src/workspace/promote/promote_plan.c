/* SPDX-License-Identifier: Apache-2.0 */
/* From what the host gets to the steps of a transaction. */
#include "workspace/promote/promote_commits.h"
#include "workspace/promote/promote_link.h"

#include "base/core/own.h"
#include "workspace/disk/target.h"

#include <stdlib.h>
#include <string.h>

/* A renamed directory, taken along with all that is in it. */
static bool is_moved_directory(const struct item *item)
{
	return item->twin != NO_ITEM && item->entry.op == DELTA_ADDED && item->type == 'd';
}

/* Whether the item's own step makes a directory where there is none: what is below is staged in it. */
static bool makes_directory(const struct item *item)
{
	return item->type == 'd' && target_type(&item->now) != 'd' && !is_moved_directory(item);
}

static bool removes_directory(const struct item *item)
{
	return item->type != 'd' && target_type(&item->now) == 'd';
}

static void find_carriers(struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];
		const struct item *above =
			item->parent == NO_ITEM ? NULL : &promote->items[item->parent];

		item->carrier = NO_ITEM;
		if (item->fate != FATE_APPLIED || !above || above->fate != FATE_APPLIED ||
		    is_moved_directory(item))
			continue;
		if (makes_directory(above) || removes_directory(above))
			item->carrier = above->carrier == NO_ITEM ? item->parent : above->carrier;
	}
}

/* A pure rename keeps its inode, where nothing else happens to either name. */
static bool is_move(const struct promote *promote, const struct item *item)
{
	const struct item *gone = item->twin == NO_ITEM ? NULL : &promote->items[item->twin];

	if (is_moved_directory(item))
		return true;
	return gone && item->entry.op == DELTA_ADDED && item->entry.aspects == ASPECT_PATH &&
	       (item->type == 'f' || item->type == 'l') && item->content == CONTENT_THEIRS &&
	       item->verdict.object == TAKE_THEIRS && promote->is_workspace &&
	       item->carrier == NO_ITEM && gone->carrier == NO_ITEM && !item->now.exists &&
	       gone->now.exists && gone->fate == FATE_APPLIED;
}

static bool is_moved_away(const struct promote *promote, const struct item *item)
{
	const struct item *fresh = item->twin == NO_ITEM ? NULL : &promote->items[item->twin];

	return fresh && item->entry.op == DELTA_DELETED && fresh->fate == FATE_APPLIED &&
	       is_move(promote, fresh);
}

static enum txn_kind kind_of(const struct promote *promote, const struct item *item)
{
	if (item->type == 0)
		return TXN_DELETE;
	if (is_move(promote, item))
		return TXN_MOVE;
	if (!item->now.exists)
		return TXN_ADD;
	return item->type == 'd' && target_type(&item->now) == 'd' ? TXN_META : TXN_REPLACE;
}

static void add_op(struct promote *promote, struct item *item)
{
	enum txn_kind kind = kind_of(promote, item);
	const struct item *moved = kind == TXN_MOVE ? &promote->items[item->twin] : item;
	struct txn_op *op = &promote->ops[promote->op_count++];

	*op = (struct txn_op){
		.kind = kind,
		.path = xstrdup(moved->path),
		.to = kind == TXN_MOVE ? xstrdup(item->path) : NULL,
		.old = moved->now,
		.new_meta = {
			.mode = item->meta.mode,
			.uid = item->meta.set_owner ? item->meta.uid : item->now.uid,
			.gid = item->meta.set_owner ? item->meta.gid : item->now.gid,
			.mtime_ns = item->meta.mtime.tv_sec * 1000000000 + item->meta.mtime.tv_nsec,
			.xattrs = &item->xattrs,
		},
		.cookie = item,
	};
}

/*
 * What comes is in the order of its paths, so that a directory is there, or made writable, before something is put
 * into it; then what is replaced, then what goes; a directory stops being writable last.
 */
static int rank_of(const struct txn_op *op)
{
	switch (op->kind) {
	case TXN_META:
		return op->new_meta.mode & 0200 ? 0 : 3;
	case TXN_ADD:
	case TXN_MOVE:
		return 0;
	case TXN_REPLACE:
		return 1;
	case TXN_DELETE:
		break;
	}
	return 2;
}

static int compare_ops(const void *a, const void *b)
{
	const struct txn_op *left = a, *right = b;
	int order = rank_of(left) - rank_of(right);

	return order != 0 ? order
			  : strcmp(left->to ? left->to : left->path,
				   right->to ? right->to : right->path);
}

/* Other names of a file that is renamed are made while it still has its old one. */
static void anchor_at_moved(struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *moved = &promote->items[i];

		if (moved->mate == i || moved->type != 'f' || moved->fate != FATE_APPLIED ||
		    !is_move(promote, moved))
			continue;
		const struct item *gone = &promote->items[moved->twin];

		for (size_t other = moved->mate; other != i; other = promote->items[other].mate) {
			if (!promote_is_plain(&promote->items[other]))
				continue;
			promote->items[other].anchor = gone->path;
			promote->items[other].anchored = gone->now;
		}
	}
}

void promote_drop_plan(struct promote *promote)
{
	for (size_t i = 0; i < promote->op_count; i++) {
		free(promote->ops[i].path);
		free(promote->ops[i].to);
	}
	free(promote->ops);
	promote->ops = NULL;
	promote->op_count = 0;
}

int promote_plan(struct promote *promote, struct error *err)
{
	(void)err;
	find_carriers(promote);
	anchor_at_moved(promote);
	promote->ops = xcalloc(promote->count + 1, sizeof(struct txn_op));
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		if (item->fate != FATE_APPLIED || item->carrier != NO_ITEM || item->type == 's' ||
		    (item->type == 0 && !item->now.exists) || is_moved_away(promote, item))
			continue;
		add_op(promote, item);
	}
	qsort(promote->ops, promote->op_count, sizeof(struct txn_op), compare_ops);
	for (size_t i = 0; i < promote->op_count; i++)
		((struct item *)promote->ops[i].cookie)->op = i;
	return 0;
}
