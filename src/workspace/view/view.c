/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox sees at one path. */
#include "workspace/view/view.h"

#include "base/core/own.h"
#include "workspace/disk/lower.h"
#include "workspace/view/view_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void view_object_done(struct view_object *object)
{
	fd_close(&object->dir_fd);
}

int view_open_file(const struct view_object *object)
{
	if (object->kind == VIEW_ABSENT) {
		errno = ENOENT;
		return -1;
	}
	return lower_open_file(object->dir_fd, object->name, &object->st);
}

/* The unit PATH lies in: the deepest. */
static const struct layer_unit *find_unit(const struct layer_units *units, const char *path)
{
	for (size_t i = 0; i < units->count; i++)
		if (view_is_below(path, units->items[i].path))
			return &units->items[i];
	return NULL;
}

/* The unit's own directory, as the topmost layer that has it shows it. */
static int take_root(const struct view_root *root, struct view_object *ret_object,
		     struct error *err)
{
	const struct view_source *top = root->dir.items;

	if (root->dir.count == 0)
		return 0;
	ret_object->dir_fd = fcntl(top->fd, F_DUPFD_CLOEXEC, 0);
	if (ret_object->dir_fd < 0 || fstat(top->fd, &ret_object->st) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at %s", root->unit->path);
	ret_object->kind = top->layer == root->stack->count ? VIEW_BASE : VIEW_LAYER;
	ret_object->layer = top->layer;
	ret_object->name[0] = '.';
	return 0;
}

static int take_object(const struct view_root *root, const struct view_place *place,
		       struct view_object *ret_object, struct error *err)
{
	const struct view_found *found = &place->found;

	ret_object->dir_fd = fcntl(place->outer.items[found->where].fd, F_DUPFD_CLOEXEC, 0);
	if (ret_object->dir_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot look up below %s", root->unit->path);
	ret_object->kind = found->layer == root->stack->count ? VIEW_BASE : VIEW_LAYER;
	ret_object->layer = found->layer;
	memcpy(ret_object->name, place->name, sizeof(ret_object->name));
	ret_object->st = found->stat.st;
	ret_object->is_opaque = found->is_opaque;
	return 0;
}

/* PATH is below the unit's directory; absent when a part of it is. */
static int lookup_below(const struct view_root *root, const char *path,
			struct view_object *ret_object, struct error *err)
{
	owned(view_place_done) struct view_place place;

	if (view_find(root, 0, path, &place) < 0)
		return error_errno(err, errno == EINVAL ? ERROR_USAGE : ERROR_HOST,
				   "cannot look up a path below %s", root->unit->path);
	if (place.found.is_forged)
		return error_set(err, ERROR_INPUT, "a layer of %s has marks that no kernel wrote",
				 root->unit->path);
	if (place.is_unit)
		return take_root(root, ret_object, err);
	return place.found.exists ? take_object(root, &place, ret_object, err) : 0;
}

/* Outside of every unit nothing was ever written: the base alone. */
static int lookup_in(const struct view_stack *stack, size_t from, const char *path,
		     const struct layer_units *units, struct view_object *ret_object,
		     struct error *err)
{
	const struct layer_unit *unit = find_unit(units, path);
	struct layer_unit rest = { .path = (char[]){ "/" } };
	struct view_root root;

	if (!unit) {
		from = stack->count;
		unit = &rest;
	}
	if (view_root_open(stack, unit, from, &root, err) < 0)
		return -1;
	int status = lookup_below(&root, path + (unit->path[1] ? strlen(unit->path) : 0),
				  ret_object, err);

	view_root_close(&root);
	return status;
}

int view_lookup(const struct view_stack *stack, size_t from, const char *path,
		struct view_object *ret_object, struct error *err)
{
	struct layer_units units = { 0 };
	struct view_object object = { .dir_fd = -1 };

	if (path[0] != '/')
		return error_set(err, ERROR_USAGE, "not an absolute path");
	if (!stack->units && view_units(stack, &units, err) < 0)
		return -1;
	int status =
		lookup_in(stack, from, path, stack->units ? stack->units : &units, &object, err);

	layer_units_done(&units);
	if (status < 0) {
		view_object_done(&object);
		return -1;
	}
	*ret_object = object;
	return 0;
}
