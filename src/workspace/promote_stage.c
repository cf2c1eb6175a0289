/* Writing the new objects of a step, whole subtrees too, and checking that they are what was decided on. */
#include "workspace/promote_parts.h"

#include "base/own.h"
#include "workspace/sys.h"
#include "workspace/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* What lies in the slot must have the digest that was sealed. */
static int check_content(int dir_fd, const char *name, const struct item *item, struct error *err)
{
	owned(fd_close) int fd = -1;
	const char *want = item->content == CONTENT_OURS ? item->now_sha256 : item->new_sha256;
	char hex[SHA256_HEX_SIZE], shown[STR_SHOWN_SIZE];

	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || sha256_fd(fd, hex) < 0)
		return error_errno(err, ERROR_HOST, "cannot read back '%s'",
				   str_shown(item->path, shown));
	if (strcmp(hex, want) != 0)
		return error_set(err, ERROR_CONFLICT, "'%s' changed in the sandbox meanwhile",
				 str_shown(item->path, shown));
	return 0;
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
	return stage_device(dir_fd, name, item->entry.new.st.st_rdev, &meta, err);
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

/* A subtree being staged: its top is NAME in FD. */
struct subtree {
	const struct promote *promote;
	const struct item *top;
	int fd;
	const char *name;
};

/* The directory of ITEM inside the slot, and its name there. */
static int open_place(const struct subtree *tree, const struct item *item, int *ret_fd,
		      const char **ret_name, struct error *err)
{
	const char *below = item->path + strlen(tree->top->path) + 1;
	owned(free_ptr) char *path = xasprintf("%s/%s", tree->name, below);
	char *slash = strrchr(path, '/');

	*ret_name = item->path + strlen(item->path) - strlen(slash + 1);
	*slash = '\0';
	*ret_fd = sys_open_beneath(tree->fd, path, O_RDONLY | O_DIRECTORY);
	return *ret_fd >= 0 ? 0 : error_errno(err, ERROR_HOST, "cannot stage '%s'", below);
}

/* Another name of a file that is in this subtree already. */
static int stage_again(const struct subtree *tree, const struct item *first,
		       const struct item *item, struct error *err)
{
	owned(fd_close) int from_fd = -1, to_fd = -1;
	const char *from, *to;

	if (open_place(tree, first, &from_fd, &from, err) < 0 ||
	    open_place(tree, item, &to_fd, &to, err) < 0)
		return -1;
	if (sys_linkat(from_fd, from, to_fd, to, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot stage a second name");
	return 0;
}

static bool is_plain(const struct item *item)
{
	return item->type == 'f' && item->content == CONTENT_THEIRS &&
	       item->verdict.object == TAKE_THEIRS;
}

static int stage_below(const struct subtree *tree, struct item *item, struct error *err)
{
	struct item *items = tree->promote->items;
	struct item *leader = &items[item->leader];
	const struct item *first = leader->staged == NO_ITEM ? NULL : &items[leader->staged];
	owned(fd_close) int dir_fd = -1;
	const char *name;

	if (first && is_plain(item) && first->carrier == item->carrier)
		return stage_again(tree, first, item, err);
	if (open_place(tree, item, &dir_fd, &name, err) < 0 ||
	    stage_object(tree->promote, item, dir_fd, name, err) < 0)
		return -1;
	if (is_plain(item))
		leader->staged = (size_t)(item - items);
	return 0;
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
	return stage_finish_directory(tree->fd, tree->name, &tree->top->meta, err);
}

int promote_stage(const struct txn_op *op, int slot_fd, const char *slot_name, void *cookie,
		  struct error *err)
{
	const struct promote *promote = cookie;
	const struct item *item = op->cookie;
	struct subtree tree = { promote, item, slot_fd, slot_name };

	if (stage_object(promote, item, slot_fd, slot_name, err) < 0)
		return -1;
	return item->type == 'd' ? stage_subtree(&tree, err) : 0;
}
