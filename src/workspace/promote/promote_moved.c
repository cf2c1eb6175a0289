/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renamed directories: what a sandbox shows under another name than the host has it.
 *
 * A layer has only the name that such a directory came from. As soon as the host changes there, the sandbox would show something
 * else; so the directory, all that is in it and all that happens to its old name are promoted together or not at all,
 * and the layer's mark then names the directory's own place.
 */
#include "workspace/promote/promote_left.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

/* Beyond that the changes are promoted all together or not at all. */
#define GROUPS_MAX 1000u
#define MARK_MAX 4096

/* A unit's tree in one layer, as far as it is the workspace's. */
struct marked_tree {
	struct promote *promote;
	const struct layer_unit *unit;
	size_t layer;
	int fd; /* of the unit's directory in the layer */
};

static void add_moved(const struct marked_tree *tree, const char *below, const char *mark)
{
	struct promote *promote = tree->promote;
	const char *workspace = promote->sandbox->workspace;
	const char *unit = strcmp(tree->unit->path, "/") == 0 ? "" : tree->unit->path;
	owned(free_ptr) char *path = xasprintf("%s/%s", unit, below), *source = NULL;
	struct moved *moved;

	if (mark[0] == '/') {
		source = xasprintf("%s%s", unit, mark);
	} else {
		*strrchr(path, '/') = '\0';
		source = xasprintf("%s/%s", path, mark);
		free(path);
		path = xasprintf("%s/%s", unit, below);
	}
	promote->moved = xrealloc(promote->moved, promote->moved_count + 1, sizeof(*moved));
	moved = &promote->moved[promote->moved_count++];
	*moved = (struct moved){
		.layer = tree->layer,
		.place = xasprintf("%s/%s", tree->unit->name, below),
		.mark = xstrdup(mark),
		.own = xasprintf("/%s", below),
	};
	moved->path = xstrdup(target_relative(workspace, path));
	if (target_relative(workspace, source))
		moved->source = xstrdup(target_relative(workspace, source));
}

/* One directory of the layer: its mark, and the directories in it. 0, or -1 with errno: a mark that is missed stays as it is. */
static int look_into(const struct marked_tree *tree, const char *below, struct strv *ahead)
{
	owned(fd_close) int fd =
		sys_open_beneath(tree->fd, *below ? below : ".", O_RDONLY | O_DIRECTORY);
	char mark[MARK_MAX + 1];
	ssize_t len = fd < 0 || !*below ? -1 : fgetxattr(fd, PROMOTION_MARK, mark, MARK_MAX);
	int more, is_unmarked = len >= 0 || !*below || errno == ENODATA || errno == ENOTSUP;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	if (!is_unmarked)
		return -1;
	owned(dir_close) DIR *dir = dir_take(&fd);
	struct dirent *entry;

	if (len > 0) {
		mark[len] = '\0';
		add_moved(tree, below, mark);
	}
	while ((more = dir_next(dir, &entry)) > 0)
		if (entry->d_type == DT_DIR)
			strv_addf(ahead, "%s%s%s", below, *below ? "/" : "", entry->d_name);
	return more;
}

static int look_through(const struct marked_tree *tree)
{
	const char *workspace = tree->promote->sandbox->workspace;
	const char *start = target_relative(tree->unit->path, workspace);
	struct strv ahead = STRV_INIT;
	int status = 0;

	if (!start && !target_relative(workspace, tree->unit->path))
		return 0;
	strv_add(&ahead, start ? start : "");
	for (size_t i = 0;
	     i < ahead.count && tree->promote->moved_count <= GROUPS_MAX && status == 0; i++)
		status = look_into(tree, ahead.items[i], &ahead);
	strv_done(&ahead);
	return status;
}

int promote_find_moved(struct promote *promote, struct error *err)
{
	const struct view_stack *stack = promote->stack;
	int status = 0;

	for (size_t i = 0; stack->units && i < stack->count; i++) {
		/* A plain user's overlay renames no directories. */
		for (size_t u = 0; !stack->user_xattr[i] && u < stack->units->count; u++) {
			struct marked_tree tree = { promote, &stack->units->items[u], i, -1 };

			tree.fd = openat(stack->layer_fds[i], tree.unit->name,
					 O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (tree.fd >= 0 ? look_through(&tree) < 0 : errno != ENOENT)
				status = error_errno(err, ERROR_HOST,
						     "cannot look for renamed directories in the "
						     "layers of '%s'",
						     promote->sandbox->name);
			fd_close(&tree.fd);
		}
	}
	return status;
}

void promote_moved_done(struct promote *promote)
{
	for (size_t i = 0; i < promote->moved_count; i++) {
		free(promote->moved[i].place);
		free(promote->moved[i].mark);
		free(promote->moved[i].own);
		free(promote->moved[i].path);
		free(promote->moved[i].source);
	}
	free(promote->moved);
	promote->moved = NULL;
	promote->moved_count = 0;
}

/* Whether the item is of the directory or its old place, or takes either away. */
static bool concerns(const struct moved *moved, const struct item *item)
{
	bool takes_away = item->entry.op != DELTA_MODIFIED;

	if (target_relative(moved->path, item->path) ||
	    (takes_away && target_relative(item->path, moved->path)))
		return true;
	return moved->source && (target_relative(moved->source, item->path) ||
				 (takes_away && target_relative(item->path, moved->source)));
}

static bool is_any(const struct promote *promote, const struct moved *moved, bool is_applied)
{
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];

		if ((is_applied ? item->fate == FATE_APPLIED : item->is_selected) &&
		    concerns(moved, item))
			return true;
	}
	return false;
}

bool promote_applies_moved(const struct promote *promote, const struct moved *moved)
{
	return promote->is_workspace && is_any(promote, moved, true);
}

int promote_check_moved(const struct promote *promote, struct error *err)
{
	for (size_t i = 0; promote->moved_count > GROUPS_MAX && i < promote->count; i++)
		if (!promote->items[i].is_selected)
			return error_advise(
				err, ERROR_DENIED, "promote all with --ignored and without paths",
				"more than %u directories were renamed, too many to promote a part",
				GROUPS_MAX);
	return 0;
}

bool promote_select_moved(struct promote *promote)
{
	bool any = false;

	for (size_t m = 0; m < promote->moved_count; m++) {
		if (!is_any(promote, &promote->moved[m], false))
			continue;
		for (size_t i = 0; i < promote->count; i++) {
			struct item *item = &promote->items[i];

			if (item->is_selected || !concerns(&promote->moved[m], item))
				continue;
			item->is_selected = true;
			any = true;
		}
	}
	return any;
}

bool promote_spread_left(struct promote *promote)
{
	bool is_all = promote->moved_count > GROUPS_MAX, any = false;

	for (size_t m = 0; m < promote->moved_count; m++) {
		const struct moved *moved = &promote->moved[m];
		bool is_left = false;

		for (size_t i = 0; i < promote->count && !is_left; i++)
			is_left = promote->items[i].is_left &&
				  (is_all || concerns(moved, &promote->items[i]));
		for (size_t i = 0; i < promote->count && is_left; i++) {
			struct item *item = &promote->items[i];

			if (item->is_left || !(is_all || concerns(moved, item)))
				continue;
			item->is_left = true;
			any = true;
		}
	}
	return any;
}

void promote_leave_moved(struct promote *promote)
{
	for (size_t m = 0; m < promote->moved_count; m++) {
		const struct moved *moved = &promote->moved[m];
		bool is_left = false;

		for (size_t i = 0; i < promote->count && !is_left; i++)
			is_left = promote->items[i].is_selected &&
				  promote->items[i].fate != FATE_APPLIED &&
				  promote->items[i].verdict.kind &&
				  concerns(moved, &promote->items[i]);
		for (size_t i = 0; i < promote->count && is_left; i++)
			if (promote->items[i].fate == FATE_APPLIED &&
			    concerns(moved, &promote->items[i]))
				promote->items[i].fate = FATE_LEFT;
	}
}

int promote_note_moved(const struct promote *promote, struct error *err)
{
	struct strv marks = STRV_INIT;
	int status;

	for (size_t m = 0; m < promote->moved_count; m++) {
		const struct moved *moved = &promote->moved[m];

		/* One that was covered has no mark any more. */
		if (moved->is_covered || !promote_applies_moved(promote, moved))
			continue;
		strv_addf(&marks, "%zu", moved->layer);
		strv_add(&marks, moved->place);
		strv_add(&marks, moved->mark);
		strv_add(&marks, moved->own);
	}
	status = promotion_note_marks(promote->sandbox->store, promote->stack, &marks,
				      promote->lock_fd, err);
	strv_done(&marks);
	return status;
}
