/* A tree of every kind of object, a plan with every kind of change to it, and a picture of what is there. */
#ifndef TESTS_TXN_FIXTURE_H
#define TESTS_TXN_FIXTURE_H

#include "base/own.h"
#include "base/str.h"
#include "workspace/stage.h"
#include "workspace/txn.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FIXTURE_TIME 1000000000

/* What staging puts there: "text", "dir" (with entries), or a link's target. */
struct fixture_new {
	const char *path;
	const char *text; /* NULL for none */
	const char *link;
	const char *const *entries; /* names below: those that end in / are directories */
	mode_t mode;
	const char *xattr;
};

static const char *const fixture_subtree[] = {
	"one", "deep/", "deep/two", "deep/deeper/", "deep/deeper/three", NULL
};
static const char *const fixture_single[] = { "child", NULL };
static const char *const fixture_empty[] = { NULL };

static inline struct stage_meta fixture_meta(mode_t mode, const struct xattr_list *xattrs)
{
	return (struct stage_meta){
		.mode = mode,
		.uid = getuid(),
		.gid = getgid(),
		.mtime = { .tv_sec = FIXTURE_TIME },
		.xattrs = xattrs,
	};
}

/* The one attribute that staged objects get. */
static inline struct xattr_list fixture_xattr(const char *value)
{
	struct xattr_item *item = xcalloc(1, sizeof(*item));

	*item = (struct xattr_item){ xstrdup("user.aisbx-test"), xstrdup(value), strlen(value) };
	return (struct xattr_list){ .items = item, .count = 1 };
}

static inline int fixture_stage_entries(int fd, const char *const *entries, struct error *err)
{
	struct stage_meta file = fixture_meta(0644, NULL);

	for (size_t i = 0; entries[i]; i++) {
		if (str_ends(entries[i], "/")) {
			char name[64];

			(void)snprintf(name, sizeof(name), "%.*s", (int)strlen(entries[i]) - 1,
				       entries[i]);
			if (stage_directory(fd, name, err) < 0)
				return -1;
		} else if (stage_bytes(fd, entries[i], "new below\n", 10, &file, err) < 0) {
			return -1;
		}
	}
	return 0;
}

static inline int fixture_stage(const struct txn_op *op, int slot_fd, const char *slot_name,
				void *cookie, struct error *err)
{
	const struct fixture_new *new = op->cookie;
	owned(xattr_list_done) struct xattr_list xattrs = { 0 };
	struct stage_meta meta = fixture_meta(new->mode, NULL);

	(void)cookie;
	if (new->xattr) {
		xattrs = fixture_xattr(new->xattr);
		meta.xattrs = &xattrs;
	}
	if (new->link)
		return stage_link(slot_fd, slot_name, new->link, &meta, err);
	if (new->text)
		return stage_bytes(slot_fd, slot_name, new->text, strlen(new->text), &meta, err);
	if (stage_directory(slot_fd, slot_name, err) < 0)
		return -1;
	owned(fd_close) int fd = openat(slot_fd, slot_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fixture_stage_entries(fd, new->entries, err) < 0)
		return -1;
	return stage_finish_directory(slot_fd, slot_name, &meta, err);
}

static inline void fixture_file(int root_fd, const char *path, const char *text)
{
	owned(fd_close) int fd =
		openat(root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct timespec times[2] = { { .tv_sec = FIXTURE_TIME - 5 },
				     { .tv_sec = FIXTURE_TIME - 5 } };

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || futimens(fd, times) < 0)
		abort();
}

/* The old tree. */
static inline void fixture_make(const char *root)
{
	static const char *const dirs[] = { "gone-dir", "gone-dir/sub", "move-dir", "meta",
					    "type-dir", "out-dir",	"stay" };
	static const char *const files[] = { "replace",	       "delete",      "gone-dir/x",
					     "gone-dir/sub/y", "move",	      "move-dir/inner",
					     "move-dir/keep",  "meta/inside", "type-file",
					     "type-dir/z",     "out-dir/out", "out-dir/rest",
					     "stay/untouched" };

	if (mkdir(root, 0755) < 0 && errno != EEXIST)
		abort();
	owned(fd_close) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (mkdirat(fd, dirs[i], 0755) < 0)
			abort();
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		owned(free_ptr) char *text = xasprintf("old %s\n", files[i]);

		fixture_file(fd, files[i], text);
	}
	if (symlinkat("old target", fd, "link") < 0)
		abort();
}

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
	op = fixture_op(fixture, TXN_ADD, "added-too", NULL);
	op->link_of = fixture->plan.count - 1;
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
	fixture_ops(fixture);
}

static inline void fixture_close(struct fixture_plan *fixture)
{
	xattr_list_done(&fixture->xattrs);
}

/* One line for an object: what a user would notice, and the inode's link count. */
static inline int fixture_describe(const char *path, const struct stat *st, int kind,
				   struct FTW *ftw)
{
	char text[128] = "", xattr[64] = "";

	(void)ftw;
	(void)kind;
	if (S_ISREG(st->st_mode)) {
		owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t got = read(fd, text, sizeof(text) - 1);

		text[got > 0 ? got - 1 : 0] = '\0';
	} else if (S_ISLNK(st->st_mode) && readlink(path, text, sizeof(text) - 1) < 0) {
		abort();
	}
	if (lgetxattr(path, "user.aisbx-test", xattr, sizeof(xattr) - 1) < 0)
		xattr[0] = '\0';
	printf("%s mode=%o links=%ld mtime=%ld [%s] [%s]\n", path, st->st_mode,
	       S_ISDIR(st->st_mode) ? 0l : (long)st->st_nlink,
	       S_ISREG(st->st_mode) ? (long)st->st_mtim.tv_sec : 0l, text, xattr);
	return 0;
}

#endif
