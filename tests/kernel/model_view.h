/* SPDX-License-Identifier: Apache-2.0 */
/* The model test's layers as a stack, and single paths of its view. */
#ifndef TESTS_MODEL_VIEW_H
#define TESTS_MODEL_VIEW_H

#include "tests/kernel/model_tree.h"
#include "workspace/view/view.h"

/* A stack of DIR/layerN (the newest on top) on DIR/base; its unit is the base's path. */
static inline void model_open_stack(struct view_stack *stack, const char *dir, unsigned count,
				    bool user_xattr)
{
	struct layer_unit *unit = xcalloc(1, sizeof(*unit));

	unit->path = xasprintf("%s/base", dir);
	(void)snprintf(unit->name, sizeof(unit->name), "unit");
	*stack = (struct view_stack){ .layer_fds = xcalloc(count + 1, sizeof(int)),
				      .user_xattr = xcalloc(count + 1, sizeof(bool)),
				      .count = count,
				      .units = xcalloc(1, sizeof(struct layer_units)) };
	*stack->units = (struct layer_units){ .items = unit, .count = 1 };
	for (unsigned i = 0; i < count; i++) {
		owned(free_ptr) char *path = xasprintf("%s/layer%u", dir, count - 1 - i);

		stack->layer_fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		stack->user_xattr[i] = user_xattr;
	}
}

/* Whether what the view shows at PATH is what COPY is. */
static inline bool model_is_seen(const struct view_stack *stack, size_t from, const char *path,
				 const char *copy)
{
	owned(str_done) struct str want = STR_INIT, got = STR_INIT;
	owned(view_object_done) struct view_object object = { .dir_fd = -1 };
	struct error err = { 0 };

	tree_describe(copy, &want);
	if (view_lookup(stack, from, path, &object, &err) < 0) {
		printf("# %s: %s\n", path, err.text);
		return false;
	}
	if (object.kind == VIEW_ABSENT) {
		str_add(&got, "absent");
	} else {
		owned(free_ptr) char *real =
			xasprintf("/proc/self/fd/%d/%s", object.dir_fd, object.name);

		tree_describe(real, &got);
	}
	if (strcmp(want.data, got.data) != 0)
		printf("# from %zu: %s is %s, view says %s\n", from, path, want.data, got.data);
	return strcmp(want.data, got.data) == 0;
}

#endif
