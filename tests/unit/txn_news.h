/* SPDX-License-Identifier: Apache-2.0 */
/* New objects for a tree, staged as a promotion stages them. */
#ifndef TESTS_TXN_NEWS_H
#define TESTS_TXN_NEWS_H

#include "tests/unit/txn_tree.h"
#include "workspace/disk/sys.h"

/* What staging puts there: "text", "dir" (with entries), or a link's target. */
struct fixture_new {
	const char *path;
	const char *text; /* NULL for none */
	const char *link;
	const char *const *entries; /* names below: those that end in / are directories */
	mode_t mode;
	const char *xattr;
	size_t second_of; /* index + 1 of the operation whose file it is another name of */
	const char *also; /* a file of the tree that it becomes another name of */
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

static inline int fixture_stage_name(const struct fixture_new *new, struct txn_stage *stage,
				     const char *root, struct error *err)
{
	owned(fd_close) int fd = -1;
	char name[TXN_STAGED_NAME_SIZE];
	int status;

	if (new->also) {
		owned(free_ptr) char *path = xasprintf("%s/%s", root, new->also);
		struct txn_identity object;

		txn_identity_of(AT_FDCWD, path, &object);
		status = sys_linkat(AT_FDCWD, path, stage->fd, stage->name, 0);
		if (stage->shares)
			stage->shares(stage, &object);
	} else {
		status = stage->find(stage, new->second_of - 1, &fd, name);
		if (status == 0)
			status = sys_linkat(fd, name, stage->fd, stage->name, 0);
	}
	return status == 0 ? 0 : error_errno(err, ERROR_HOST, "cannot link");
}

/* COOKIE is the path of the tree. */
static inline int fixture_stage(const struct txn_op *op, struct txn_stage *stage, void *cookie,
				struct error *err)
{
	const struct fixture_new *new = op->cookie;
	owned(xattr_list_done) struct xattr_list xattrs = { 0 };
	struct stage_meta meta = fixture_meta(new->mode, NULL);

	if (new->second_of || new->also)
		return fixture_stage_name(new, stage, cookie, err);
	if (new->xattr) {
		xattrs = fixture_xattr(new->xattr);
		meta.xattrs = &xattrs;
	}
	if (new->link)
		return stage_link(stage->fd, stage->name, new->link, &meta, err);
	if (new->text)
		return stage_bytes(stage->fd, stage->name, new->text, strlen(new->text), &meta,
				   err);
	if (stage_directory(stage->fd, stage->name, err) < 0)
		return -1;
	owned(fd_close) int fd = openat(stage->fd, stage->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fixture_stage_entries(fd, new->entries, err) < 0)
		return -1;
	return stage_finish_directory(stage->fd, stage->name, &meta, err);
}

#endif
