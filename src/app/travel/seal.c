/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot changed, as a bundle whose bases are those the changes were made from, whatever the host is by now. */
#include "app/travel/travel_parts.h"

#include "app/change/sealed_side.h"
#include "app/change/workspace_parts.h"
#include "app/sandbox/sandbox_parts.h"
#include "base/core/own.h"
#include "base/text/clean_path.h"
#include "workspace/disk/target.h"

#include <stdlib.h>
#include <string.h>

int travel_walls_read(const struct sandbox *sandbox, struct travel_walls *ret_walls,
		      struct error *err)
{
	struct spec spec = { 0 };
	int status = sandbox_plan_masks(sandbox, &spec, err);

	for (size_t i = 0; status == 0 && i < spec.bind_count; i++)
		strv_add(&ret_walls->paths, spec.binds[i].target);
	spec_done(&spec);
	return status < 0 ? -1 : app_own_folders(&ret_walls->paths, err);
}

const char *travel_walls_find(const struct travel_walls *walls, const char *path)
{
	for (size_t i = 0; i < walls->paths.count; i++)
		if (path_is_within(path, walls->paths.items[i]))
			return walls->paths.items[i];
	return NULL;
}

void travel_walls_done(struct travel_walls *walls)
{
	strv_done(&walls->paths);
}

void travel_copy_side(struct bundle_side *to, const struct bundle_side *from)
{
	*to = *from;
	to->link = from->link ? xstrdup(from->link) : NULL;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct bundle_change *)a)->path,
		      ((const struct bundle_change *)b)->path);
}

void travel_sort(struct bundle *bundle)
{
	if (bundle->count > 1)
		qsort(bundle->items, bundle->count, sizeof(bundle->items[0]), compare);
}

const struct bundle_change *travel_find(const struct bundle *bundle, const char *path)
{
	struct bundle_change key = { .path = (char *)(uintptr_t)path };

	return bundle->count ? bsearch(&key, bundle->items, bundle->count, sizeof(bundle->items[0]),
				       compare)
			     : NULL;
}

struct sealing {
	const struct sandbox *sandbox;
	struct sealed_sides sides;
	struct travel_walls walls;
	struct bundle *bundle;
	struct strv *left_out;
};

static void sealing_done(struct sealing *seal)
{
	sealed_sides_done(&seal->sides);
	travel_walls_done(&seal->walls);
}

/* Mounts and our own folders stay where they are; so do fifos, sockets and devices. */
static bool stays(const struct sealing *seal, const struct delta_entry *entry)
{
	return sealed_is_special(&entry->new) || travel_walls_find(&seal->walls, entry->path);
}

static int add_entry(struct sealing *seal, const struct delta_entry *entry, struct error *err)
{
	const char *path = target_relative(seal->sandbox->workspace, entry->path);
	struct bundle_change *change = NULL;
	char shown[STR_SHOWN_SIZE];

	if (!path || !*path)
		return 0;
	if (stays(seal, entry)) {
		strv_add(seal->left_out, path);
		return 0;
	}
	if (bundle_add(seal->bundle, path, &change, err) < 0)
		return -1;
	if (sealed_base(&seal->sides, entry, &change->old, err) < 0 ||
	    sealed_new(&seal->sides, entry, &change->new, err) < 0)
		return error_context(err, "%s", str_shown(path, shown));
	/* The host changed, and the sandbox did not. */
	if (bundle_sides_equal(&change->old, &change->new))
		bundle_drop_last(seal->bundle);
	return 0;
}

static int add_entries(struct sealing *seal, const struct delta *delta, struct error *err)
{
	for (size_t i = 0; i < delta->count; i++)
		if (add_entry(seal, &delta->items[i], err) < 0)
			return -1;
	return 0;
}

int travel_seal(const struct sandbox *sandbox, const struct view_stack *stack,
		struct bundle *ret_bundle, struct strv *ret_left_out, struct error *err)
{
	owned(sealing_done) struct sealing seal = { .sandbox = sandbox,
						    .bundle = ret_bundle,
						    .left_out = ret_left_out };
	const struct delta_options options = { .workspace = sandbox->workspace,
					       .sandbox = sandbox,
					       .old_from = stack->count,
					       .only_workspace = true,
					       .expand = true };
	struct delta delta = { .count = 0 };
	char why[DELTA_WHY_SIZE];
	int status = delta_read(stack, &options, &delta, err);

	if (status == 0 && delta.is_partial)
		status = error_set(err, ERROR_DENIED, "%s cannot be pushed: %s", sandbox->name,
				   delta_why_partial(&delta, options.workspace, why));
	if (status == 0)
		status = sealed_sides_open(&seal.sides, sandbox, stack, sandbox->store, err);
	if (status == 0)
		status = travel_walls_read(sandbox, &seal.walls, err);
	if (status == 0)
		status = add_entries(&seal, &delta, err);
	delta_done(&delta);
	travel_sort(ret_bundle);
	return status;
}
