/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of one file in the sandbox, which become names of one file on the host.
 *
 * Changed ones are written once and linked. One that is another name of a file that did not change is a new name of
 * the host's own file, its anchor: provided that this is what the sandbox saw, for what is applied is what was reviewed. Where
 * the filesystem or its owner does not permit the link, it is a file of its own with the same content.
 */
#include "workspace/promote/promote_link.h"

#include "base/core/own.h"
#include "workspace/disk/digest.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"
#include "workspace/consent/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_names(const void *a, const void *b)
{
	const struct item *left = *(struct item *const *)a, *right = *(struct item *const *)b;
	int order = delta_compare_inodes(&left->entry.new, &right->entry.new);

	if (order != 0)
		return order;
	return left < right ? -1 : left > right;
}

/* Ties the names of one inode to a ring; in a git directory every name becomes a file of its own. */
void promote_find_mates(struct promote *promote)
{
	owned(free_ptr) struct item **linked = xcalloc(promote->count + 1, sizeof(struct item *));
	size_t count = 0;

	for (size_t i = 0; i < promote->count; i++) {
		const struct delta_side *new = &promote->items[i].entry.new;

		promote->items[i].mate = promote->items[i].leader = i;
		if (new->exists && S_ISREG(new->st.st_mode) && new->st.st_nlink > 1 &&
		    !git_tree_holds(promote->tree, promote->items[i].path))
			linked[count++] = &promote->items[i];
	}
	qsort(linked, count, sizeof(struct item *), compare_names);
	for (size_t i = 1, first = 0; i < count; i++) {
		if (delta_compare_inodes(&linked[first]->entry.new, &linked[i]->entry.new) != 0) {
			first = i;
			continue;
		}
		linked[i]->leader = linked[first]->leader;
		linked[i]->mate = linked[i]->leader;
		linked[i - 1]->mate = (size_t)(linked[i] - promote->items);
	}
}

bool promote_is_plain(const struct item *item)
{
	return item->type == 'f' && item->fate == FATE_APPLIED && item->content == CONTENT_THEIRS &&
	       item->verdict.object == TAKE_THEIRS;
}

/* A name that nothing may be linked to: what makes something run, what masks hid, what changes itself; nor from git's data. */
static bool is_no_anchor(const struct promote *promote, const struct item *item, const char *path)
{
	const struct view_stack *stack = promote->stack;

	return trigger_why(path) || git_tree_holds(promote->tree, path) ||
	       git_tree_holds(promote->tree, item->path) ||
	       promote_find(promote, path) != NO_ITEM ||
	       (stack->shows && !stack->shows(item->entry.mate_base, stack->cookie));
}

/* Whether the target's file at PATH is, in all that counts, what the sandbox has under the item's name. */
static int is_anchor(const struct promote *promote, struct item *item, const char *path,
		     struct error *err)
{
	const struct stat *new = &item->entry.new.st;
	struct txn_identity *there = &item->anchored;
	char hex[SHA256_HEX_SIZE];

	target_look(promote->target_fd, path, there);
	if (target_type(there) != 'f' || there->size != (uint64_t) new->st_size ||
	    (there->mode & 07777) != (new->st_mode & 07777) ||
	    (geteuid() == 0 ? there->uid != new->st_uid || there->gid != new->st_gid
			    : there->uid != geteuid()))
		return 0;
	owned(fd_close) int fd = target_open_file(promote->target_fd, path, there);

	if (fd < 0 || digest_fd(fd, hex) < 0)
		return 0;
	if (promote_digest_theirs(promote, item, err) < 0)
		return -1;
	return strcmp(hex, item->new_sha256) == 0;
}

static int find_anchor(const struct promote *promote, struct item *item, struct error *err)
{
	const char *path = item->entry.mate_base ? target_relative(promote->sandbox->workspace,
								   item->entry.mate_base)
						 : NULL;
	bool is_link_alone = item->entry.op == DELTA_MODIFIED &&
			     !(item->entry.aspects & ~(unsigned)(ASPECT_LINK | ASPECT_MTIME));
	int found = path && *path && !is_no_anchor(promote, item, path)
			    ? is_anchor(promote, item, path, err)
			    : 0;

	if (found < 0)
		return -1;
	if (found && item->now.exists && item->now.ino == item->anchored.ino &&
	    item->now.dev == item->anchored.dev) {
		item->fate = FATE_LEFT;
	} else if (found) {
		item->anchor = path;
		item->meta.mode = item->anchored.mode & 07777;
	} else if (is_link_alone) {
		item->fate = FATE_LEFT;
	}
	return 0;
}

int promote_find_anchors(struct promote *promote, struct error *err)
{
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		if (item->is_selected && item->entry.mate && promote_is_plain(item) &&
		    find_anchor(promote, item, err) < 0)
			return -1;
	}
	return 0;
}

const char *promote_last_name(const struct item *item)
{
	const char *slash = strrchr(item->path, '/');

	return slash ? slash + 1 : item->path;
}

int promote_open_staged(int fd, const char *name, const struct item *top, const struct item *item)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", name, item->path + strlen(top->path) + 1);

	*strrchr(path, '/') = '\0';
	return sys_open_beneath(fd, path, O_RDONLY | O_DIRECTORY);
}

/* Whether errno means that this filesystem, or this caller, cannot have such a link. */
static bool is_not_permitted(void)
{
	return errno == EPERM || errno == EACCES || errno == EXDEV || errno == EMLINK ||
	       errno == EOPNOTSUPP;
}

/* By the descriptor of what was looked at: another file that came to that name meanwhile is not linked. */
static int link_anchor(const struct promote *promote, const struct item *item,
		       const struct promote_name *at, struct error *err)
{
	owned(fd_close) int fd =
		sys_open_beneath(promote->target_fd, item->anchor, O_PATH | O_NOFOLLOW);
	struct txn_identity now = { 0 };
	char path[32], shown[STR_SHOWN_SIZE];

	if (fd >= 0)
		txn_identity_of(fd, "", &now);
	if (item->anchored.dev != now.dev || !target_is_same_object(&item->anchored, &now))
		return error_set(err, ERROR_CONFLICT, "'%s' changed meanwhile",
				 str_shown(item->anchor, shown));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (sys_linkat(AT_FDCWD, path, at->dir_fd, at->name, AT_SYMLINK_FOLLOW) == 0) {
		if (at->stage->shares)
			at->stage->shares(at->stage, &now);
		return 1;
	}
	if (is_not_permitted())
		return 0;
	return error_errno(err, ERROR_HOST, "cannot link '%s'", str_shown(item->path, shown));
}

/* To FIRST, which was staged before, in this step or an earlier one. */
static int link_staged(const struct promote *promote, const struct item *first,
		       const struct promote_name *at, struct error *err)
{
	const struct item *top =
		first->carrier == NO_ITEM ? first : &promote->items[first->carrier];
	char name[TXN_STAGED_NAME_SIZE], shown[STR_SHOWN_SIZE];
	owned(fd_close) int fd = -1, dir_fd = -1;
	int status = at->stage->find(at->stage, top->op, &fd, name);

	if (status == 0 && top != first) {
		dir_fd = promote_open_staged(fd, name, top, first);
		status = dir_fd < 0 ? -1
				    : sys_linkat(dir_fd, promote_last_name(first), at->dir_fd,
						 at->name, 0);
	} else if (status == 0) {
		status = sys_linkat(fd, name, at->dir_fd, at->name, 0);
	}
	if (status == 0)
		return 1;
	if (is_not_permitted())
		return 0;
	return error_errno(err, ERROR_HOST, "cannot link '%s'", str_shown(first->path, shown));
}

int promote_stage_link(const struct promote *promote, const struct item *item,
		       const struct promote_name *at, struct error *err)
{
	const struct item *leader = &promote->items[item->leader];

	if (!promote_is_plain(item))
		return 0;
	if (item->anchor)
		return link_anchor(promote, item, at, err);
	return leader->staged == NO_ITEM
		       ? 0
		       : link_staged(promote, &promote->items[leader->staged], at, err);
}

void promote_note_staged(const struct promote *promote, const struct item *item)
{
	if (promote_is_plain(item))
		promote->items[item->leader].staged = (size_t)(item - promote->items);
}

void promote_forget_staged(const struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++)
		promote->items[i].staged = NO_ITEM;
}
