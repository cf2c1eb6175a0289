/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the new objects of a step, whole subtrees too, and checking that they are what was decided on. */
#include "workspace/promote/promote_link.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/disk/digest.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int refuse_changed(const struct item *item, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_set(err, ERROR_CONFLICT, "'%s' changed in the sandbox meanwhile",
			 str_shown(item->path, shown));
}

/* What lies in the slot must have the digest that was sealed. */
static int check_content(int dir_fd, const char *name, const struct item *item, struct error *err)
{
	owned(fd_close) int fd = -1;
	const char *want = item->content == CONTENT_OURS ? item->now_sha256 : item->new_sha256;
	char hex[SHA256_HEX_SIZE], shown[STR_SHOWN_SIZE];

	fd = file_open(dir_fd, name, O_NOFOLLOW, NULL);
	if (fd < 0 || digest_fd(fd, hex) < 0)
		return error_errno(err, ERROR_HOST, "cannot read back '%s'",
				   str_shown(item->path, shown));
	return strcmp(hex, want) == 0 ? 0 : refuse_changed(item, err);
}

static int stage_content(const struct promote *promote, const struct item *item, int dir_fd,
			 const char *name, struct error *err)
{
	owned(fd_close) int from = -1;

	if (item->content == CONTENT_MERGED)
		return stage_bytes(dir_fd, name, str_cstr(&item->merged), item->merged.len,
				   &item->meta, err);
	from = item->content == CONTENT_OURS ? promote_open_ours(promote, item, err)
					     : promote_open_theirs(promote, item, err);
	if (from < 0 || stage_file(dir_fd, name, from, &item->meta, err) < 0)
		return -1;
	return check_content(dir_fd, name, item, err);
}

static int stage_node(const struct item *item, int dir_fd, const char *name, struct error *err)
{
	struct stage_meta meta = item->meta;

	meta.mode |= item->type == 'c' ? S_IFCHR : S_IFBLK;
	return stage_device(dir_fd, name, promote_device(item), &meta, err);
}

static int stage_object(const struct promote *promote, const struct item *item, int dir_fd,
			const char *name, struct error *err)
{
	switch (item->type) {
	case 'f':
		return stage_content(promote, item, dir_fd, name, err);
	case 'l':
		return stage_link(dir_fd, name,
				  item->content == CONTENT_OURS ? item->now_link
								: item->entry.new.link,
				  &item->meta, err);
	case 'd':
		return stage_directory(dir_fd, name, err);
	case 'p':
		return stage_fifo(dir_fd, name, &item->meta, err);
	case 's':
		return 0;
	default:
		return stage_node(item, dir_fd, name, err);
	}
}

/* A subtree being staged: its top is the step's own object. */
struct subtree {
	const struct promote *promote;
	const struct item *top;
	struct txn_stage *stage;
};

/* The directory of ITEM inside the slot, and its name there. */
static int open_place(const struct subtree *tree, const struct item *item, int *ret_fd,
		      const char **ret_name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	*ret_fd = promote_open_staged(tree->stage->fd, tree->stage->name, tree->top, item);
	*ret_name = promote_last_name(item);
	return *ret_fd >= 0 ? 0
			    : error_errno(err, ERROR_HOST, "cannot stage '%s'",
					  str_shown(item->path, shown));
}

/*
 * What was there before the promotion is read now. What it staged itself was read back then, and is what that name was
 * sealed as: the same as this one, unless the sandbox wrote between the two looks at its file.
 */
static int check_linked(const struct promote *promote, const struct item *item,
			const struct promote_name *at, struct error *err)
{
	if (item->anchor)
		return check_content(at->dir_fd, at->name, item, err);
	const struct item *first = &promote->items[promote->items[item->leader].staged];

	return strcmp(first->new_sha256, item->new_sha256) == 0 ? 0 : refuse_changed(item, err);
}

/* As another name of a file that is there already, or anew. */
static int stage_named(const struct promote *promote, struct item *item,
		       const struct promote_name *at, struct error *err)
{
	int linked = promote_stage_link(promote, item, at, err);

	if (linked < 0)
		return -1;
	if (linked == 0 && stage_object(promote, item, at->dir_fd, at->name, err) < 0)
		return -1;
	if (linked > 0 && check_linked(promote, item, at, err) < 0)
		return -1;
	promote_note_staged(promote, item);
	return 0;
}

static int stage_below(const struct subtree *tree, struct item *item, struct error *err)
{
	owned(fd_close) int dir_fd = -1;
	struct promote_name at = { .stage = tree->stage };

	if (open_place(tree, item, &dir_fd, &at.name, err) < 0)
		return -1;
	at.dir_fd = dir_fd;
	return stage_named(tree->promote, item, &at, err);
}

static int finish_directory(const struct subtree *tree, const struct item *item, struct error *err)
{
	owned(fd_close) int dir_fd = -1;
	const char *name;

	if (open_place(tree, item, &dir_fd, &name, err) < 0)
		return -1;
	return stage_finish_directory(dir_fd, name, &item->meta, err);
}

/* Everything the top's step brings along; directories get their modes when they are filled, the deepest first. */
static int stage_subtree(const struct subtree *tree, struct error *err)
{
	struct item *items = tree->promote->items;
	size_t at = (size_t)(tree->top - items), len = strlen(tree->top->path), end = at + 1;

	for (; end < tree->promote->count && strncmp(items[end].path, tree->top->path, len) == 0;
	     end++)
		if (items[end].carrier == at && items[end].type != 0 &&
		    stage_below(tree, &items[end], err) < 0)
			return -1;
	while (end-- > at + 1)
		if (items[end].carrier == at && items[end].type == 'd' &&
		    finish_directory(tree, &items[end], err) < 0)
			return -1;
	return stage_finish_directory(tree->stage->fd, tree->stage->name, &tree->top->meta, err);
}

int promote_stage(const struct txn_op *op, struct txn_stage *stage, void *cookie, struct error *err)
{
	const struct promote *promote = cookie;
	struct item *item = op->cookie;
	struct promote_name at = { stage->fd, stage->name, stage };
	struct subtree tree = { promote, item, stage };

	if (stage_named(promote, item, &at, err) < 0)
		return -1;
	return item->type == 'd' ? stage_subtree(&tree, err) : 0;
}
