/* SPDX-License-Identifier: Apache-2.0 */
/* A plan with every kind of change to the tree of txn_tree.h, and every kind of dependency between two. */
#ifndef TESTS_TXN_FIXTURE_H
#define TESTS_TXN_FIXTURE_H

#include "tests/unit/txn_news.h"

struct fixture_plan {
	struct txn_plan plan;
	struct txn_op ops[20];
	struct xattr_list xattrs;
};

static inline struct txn_op *fixture_op(struct fixture_plan *fixture, enum txn_kind kind,
					const char *path, const char *now_at)
{
	struct txn_op *op = &fixture->ops[fixture->plan.count++];
	owned(fd_close) int fd =
		open(fixture->plan.target.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*op = (struct txn_op){ .kind = kind };
	memcpy(&op->path, &path, sizeof(path));
	if (now_at)
		txn_identity_of(fd, now_at, &op->old);
	if (S_ISDIR(op->old.mode) && txn_tree_of(fd, now_at, &op->old.tree) < 0)
		abort();
	return op;
}

static inline void fixture_new_object(struct txn_op *op, const struct fixture_new *new)
{
	memcpy(&op->cookie, &new, sizeof(new));
}

/* Every kind of operation, and every kind of dependency between two. */
static inline void fixture_ops(struct fixture_plan *fixture)
{
	static const struct fixture_new news[] = {
		{ .text = "new content\n", .mode = 0755, .xattr = "value" },
		{ .text = "new inside a moved directory\n", .mode = 0640 },
		{ .entries = fixture_single, .mode = 0750 },
		{ .link = "where the directory was" },
		{ .text = "added\n", .mode = 0600 },
		{ .entries = fixture_subtree, .mode = 0755, .xattr = "tree" },
		{ .entries = fixture_empty, .mode = 0755 },
		{ .link = "new target" },
		{ .second_of = 13 },
		{ .also = "stay/untouched" },
		{ .also = "pair-other" },
		{ .text = "parted\n", .mode = 0644 },
	};
	static const char *const moved_to[] = { "moved-dir", "added-dir/moved", "out" };
	struct txn_op *op;

	fixture_new_object(fixture_op(fixture, TXN_REPLACE, "replace", "replace"), &news[0]);
	op = fixture_op(fixture, TXN_MOVE, "move-dir", "move-dir");
	memcpy(&op->to, &moved_to[0], sizeof(op->to));
	fixture_new_object(fixture_op(fixture, TXN_REPLACE, "moved-dir/inner", "move-dir/inner"),
			   &news[1]);
	fixture_new_object(fixture_op(fixture, TXN_ADD, "added-dir", NULL), &news[6]);
	op = fixture_op(fixture, TXN_MOVE, "move", "move");
	memcpy(&op->to, &moved_to[1], sizeof(op->to));
	op = fixture_op(fixture, TXN_MOVE, "out-dir/out", "out-dir/out");
	memcpy(&op->to, &moved_to[2], sizeof(op->to));
	(void)fixture_op(fixture, TXN_DELETE, "out-dir", "out-dir");
	(void)fixture_op(fixture, TXN_DELETE, "delete", "delete");
	(void)fixture_op(fixture, TXN_DELETE, "gone-dir", "gone-dir");
	fixture_new_object(fixture_op(fixture, TXN_REPLACE, "type-file", "type-file"), &news[2]);
	fixture_new_object(fixture_op(fixture, TXN_REPLACE, "type-dir", "type-dir"), &news[3]);
	fixture_new_object(fixture_op(fixture, TXN_REPLACE, "link", "link"), &news[7]);
	fixture_new_object(fixture_op(fixture, TXN_ADD, "added", NULL), &news[4]);
	fixture_new_object(fixture_op(fixture, TXN_ADD, "added-too", NULL), &news[8]);
	fixture_new_object(fixture_op(fixture, TXN_ADD, "untouched-too", NULL), &news[9]);
	fixture_new_object(fixture_op(fixture, TXN_ADD, "pair-again", NULL), &news[10]);
	fixture_new_object(fixture_op(fixture, TXN_REPLACE, "pair", "pair"), &news[11]);
	fixture_new_object(fixture_op(fixture, TXN_ADD, "added-tree", NULL), &news[5]);
	op = fixture_op(fixture, TXN_META, "meta", "meta");
	fixture->xattrs = fixture_xattr("of a directory");
	op->new_meta = (struct txn_meta){ .mode = 0700,
					  .uid = getuid(),
					  .gid = getgid(),
					  .mtime_ns = FIXTURE_TIME * 1000000000ll,
					  .xattrs = &fixture->xattrs };
}

static inline void fixture_open(struct fixture_plan *fixture, const char *root, const char *staging)
{
	*fixture = (struct fixture_plan){ 0 };
	fixture->plan = (struct txn_plan){
		.target = { .root = root, .store_staging = staging },
		.id = "01fixture",
		.owner = "test",
		.digest = "none",
		.ops = fixture->ops,
		.stage = fixture_stage,
	};
	memcpy(&fixture->plan.cookie, &root, sizeof(root));
	fixture_ops(fixture);
}

static inline void fixture_close(struct fixture_plan *fixture)
{
	xattr_list_done(&fixture->xattrs);
}

#endif
