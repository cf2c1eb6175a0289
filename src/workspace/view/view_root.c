/* SPDX-License-Identifier: Apache-2.0 */
/* Units of a stack of layers, and their directories at the root. */
#include "base/core/own.h"
#include "workspace/disk/lower.h"
#include "workspace/view/view_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

bool view_is_below(const char *path, const char *dir)
{
	size_t len = 0;

	/* Not by length: a path may be as long as its payload pleases. */
	while (dir[len] && dir[len] == path[len])
		len++;
	return dir[len] == '\0' && (len == 1 || path[len] == '/' || path[len] == '\0');
}

static int compare_units(const void *a, const void *b)
{
	const struct layer_unit *one = a, *other = b;
	size_t one_len = strlen(one->path), other_len = strlen(other->path);

	if (one_len != other_len)
		return one_len > other_len ? -1 : 1;
	return strcmp(one->path, other->path);
}

static bool has_unit(const struct layer_units *units, const char *name)
{
	for (size_t i = 0; i < units->count; i++)
		if (strcmp(units->items[i].name, name) == 0)
			return true;
	return false;
}

/* Moves what is new of MORE to UNITS. */
static void join_units(struct layer_units *units, struct layer_units *more)
{
	for (size_t i = 0; i < more->count; i++) {
		struct layer_unit *unit = &more->items[i];

		if (has_unit(units, unit->name))
			continue;
		units->items = xrealloc(units->items, units->count + 1, sizeof(*units->items));
		units->items[units->count++] = *unit;
		unit->path = xstrdup("");
	}
}

int view_units(const struct view_stack *stack, struct layer_units *ret_units, struct error *err)
{
	struct layer_units units = { 0 };

	for (size_t i = 0; i < stack->count; i++) {
		owned(layer_units_done) struct layer_units more = { 0 };

		if (layer_units_read(stack->layer_fds[i], &more, err) < 0) {
			layer_units_done(&units);
			return -1;
		}
		join_units(&units, &more);
	}
	if (units.count > 0)
		qsort(units.items, units.count, sizeof(*units.items), compare_units);
	*ret_units = units;
	return 0;
}

static void add_root(struct view_root *root, size_t layer, int fd, const struct stat *st)
{
	struct view_dir *dir = &root->dir;
	struct view_path *path = xcalloc(1, sizeof(*path));

	str_add(&path->text, "");
	path->users = 1;
	dir->items = xrealloc(dir->items, dir->count + 1, sizeof(*dir->items));
	dir->items[dir->count++] = (struct view_source){ .fd = fd,
							 .layer = layer,
							 .path = path,
							 .parent = SIZE_MAX,
							 .dev = st->st_dev,
							 .ino = st->st_ino };
}

static int open_base(const struct view_root *root)
{
	const struct view_stack *stack = root->stack;

	if (stack->shows && !stack->shows(root->unit->path, stack->cookie)) {
		errno = ENOENT;
		return -1;
	}
	return lower_open_root(root->unit->path);
}

int view_root_open(const struct view_stack *stack, const struct layer_unit *unit, size_t from,
		   struct view_root *ret_root, struct error *err)
{
	struct view_root root = { .stack = stack, .unit = unit };
	struct stat st;

	for (size_t i = from; i <= stack->count; i++) {
		owned(fd_close) int fd =
			i == stack->count ? open_base(&root)
					  : openat(stack->layer_fds[i], unit->name,
						   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		/* What the host has no more, or does not show, is nothing to compare with; what cannot be determined is an error. */
		if (fd < 0 ? !(i < stack->count ? errno == ENOENT : view_is_nothing(errno))
			   : fstat(fd, &st) < 0) {
			view_root_close(&root);
			return error_errno(err, ERROR_HOST, "cannot open unit %s of a layer",
					   unit->name);
		}
		if (fd >= 0)
			add_root(&root, i, fd_take(&fd), &st);
	}
	*ret_root = root;
	return 0;
}

void view_root_close(struct view_root *root)
{
	view_dir_done(&root->dir);
}
