/* SPDX-License-Identifier: Apache-2.0 */
/* The difference between two points of a sandbox, unit by unit. */
#include "workspace/delta/delta.h"

#include "base/core/own.h"
#include "workspace/delta/delta_parts.h"
#include "workspace/base/origin_index.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	char letter;
} ops[] = {
	[DELTA_ADDED] = { "added", 'A' },	[DELTA_DELETED] = { "deleted", 'D' },
	[DELTA_MODIFIED] = { "modified", 'M' }, [DELTA_TYPE] = { "type-changed", 'T' },
	[DELTA_RENAMED] = { "renamed", 'R' },
};

const char *delta_op_name(enum delta_op op)
{
	return ops[op].name;
}

char delta_op_letter(enum delta_op op)
{
	return ops[op].letter;
}

static int compare_entries(const void *a, const void *b)
{
	const struct delta_entry *one = a, *other = b;
	int order = strcmp(one->path, other->path);

	/* What was there goes before what comes. */
	return order ? order : (other->op == DELTA_DELETED) - (one->op == DELTA_DELETED);
}

static int read_units(struct delta_walk *walk)
{
	for (size_t i = 0; i < walk->units->count; i++) {
		if (view_root_open(walk->stack, &walk->units->items[i], walk->options->new_from,
				   &walk->root, walk->err) < 0)
			return -1;
		int status = delta_zone_of(walk, walk->root.unit->path) == ZONE_SKIPPED
				     ? 0
				     : delta_walk_unit(walk);

		view_root_close(&walk->root);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int read_all(struct delta_walk *walk)
{
	int status;

	walk->buffers = xmalloc((size_t)3 * DELTA_BUFFER);
	status = read_units(walk);
	if (status == 0)
		delta_find_links(walk);
	if (status == 0 && walk->options->renames)
		delta_find_renames(walk);
	if (walk->delta->count > 1)
		qsort(walk->delta->items, walk->delta->count, sizeof(*walk->delta->items),
		      compare_entries);
	for (size_t i = 0; i < walk->delta->count; i++)
		walk->delta->items[i].flags &= ~(FLAG_ORIGIN | FLAG_SAME);
	delta_count(walk->delta);
	free(walk->buffers);
	free(walk->frames);
	str_done(&walk->path);
	str_done(&walk->old_name);
	str_done(&walk->scratch);
	delta_names_done(&walk->names);
	origin_index_close(walk->origins);
	return status;
}

int delta_read(const struct view_stack *stack, const struct delta_options *options,
	       struct delta *ret_delta, struct error *err)
{
	owned(layer_units_done) struct layer_units units = { 0 };
	struct delta delta = { 0 };
	struct delta_walk walk = { .stack = stack,
				   .options = options,
				   .units = stack->units,
				   .delta = &delta,
				   .err = err };

	if (options->new_from > options->old_from || options->old_from > stack->count)
		return error_set(err, ERROR_INTERNAL,
				 "the points of a delta are in the wrong order");
	if (!walk.units && view_units(stack, &units, err) < 0)
		return -1;
	if (!walk.units)
		walk.units = &units;
	if (read_all(&walk) < 0) {
		delta_done(&delta);
		return -1;
	}
	*ret_delta = delta;
	return 0;
}
