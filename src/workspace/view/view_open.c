/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox's layers, opened for reading. */
#include "base/core/own.h"
#include "workspace/view/view_parts.h"

#include <stdlib.h>

static void add_layer(struct view_stack *stack, int fd, bool user_xattr)
{
	stack->layer_fds = xrealloc(stack->layer_fds, stack->count + 1, sizeof(*stack->layer_fds));
	stack->user_xattr =
		xrealloc(stack->user_xattr, stack->count + 1, sizeof(*stack->user_xattr));
	stack->layer_fds[stack->count] = fd;
	stack->user_xattr[stack->count++] = user_xattr;
}

static int open_chain(const struct store *store, const char *head, struct view_stack *stack,
		      struct error *err)
{
	owned(layer_chain_done) struct layer_chain chain = { 0 };

	if (layer_chain_read(store, head, &chain, err) < 0)
		return -1;
	for (size_t i = 0; i < chain.count; i++) {
		int fd = -1;

		if (layer_open(store, chain.items[i].id, &fd, err) < 0)
			return -1;
		add_layer(stack, fd, chain.items[i].user_xattr);
	}
	return 0;
}

int view_open(const struct store *store, const char *head, int upper_fd,
	      struct view_stack *ret_stack, struct error *err)
{
	struct view_stack stack = { 0 };

	if (upper_fd >= 0)
		add_layer(&stack, upper_fd, geteuid() != 0);
	stack.units = xcalloc(1, sizeof(*stack.units));
	if (open_chain(store, head, &stack, err) < 0 || view_units(&stack, stack.units, err) < 0) {
		view_close(&stack);
		return -1;
	}
	*ret_stack = stack;
	return 0;
}

void view_cover(struct view_stack *stack, const char *dir)
{
	struct layer_units *units = stack->units;

	for (size_t i = 0; i < units->count; i++) {
		if (view_is_below(dir, units->items[i].path))
			return;
	}
	/* Nothing of it is in a layer: it has no name there. The deepest come first, and this lies in none. */
	units->items = xrealloc(units->items, units->count + 1, sizeof(*units->items));
	units->items[units->count++] = (struct layer_unit){ .name = "", .path = xstrdup(dir) };
}

void view_close(struct view_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++)
		fd_close(&stack->layer_fds[i]);
	free(stack->layer_fds);
	free(stack->user_xattr);
	if (stack->units)
		layer_units_done(stack->units);
	free(stack->units);
	if (stack->forget)
		stack->forget(stack->cookie);
	*stack = (struct view_stack){ 0 };
}
