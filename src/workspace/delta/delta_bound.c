/* SPDX-License-Identifier: Apache-2.0 */
/* What a delta looks at, and how much of it: a payload chooses what there is. */
#include "base/core/clock.h"
#include "workspace/delta/delta_parts.h"

#include <string.h>

#define ENTRIES_MAX 4000000u
#define COMPARE_MAX (64ull << 30)
#define TEXT_MAX (256ull << 20) /* of paths: deep trees have long ones */
#define CLOCK_EVERY 64u

static bool has_time(struct delta_walk *walk)
{
	uint64_t until = walk->options->until_ns;

	if (until == 0 || clock_now_ns() < until)
		return true;
	walk->delta->is_partial = walk->delta->is_cut = true;
	return false;
}

bool delta_may_look(struct delta_walk *walk)
{
	uint64_t max = walk->options->entries_max ? walk->options->entries_max : ENTRIES_MAX;

	if (++walk->looked_at > max)
		walk->delta->is_partial = walk->delta->is_cut = true;
	return walk->looked_at <= max && (walk->looked_at % CLOCK_EVERY || has_time(walk));
}

bool delta_may_compare(struct delta_walk *walk, uint64_t len)
{
	uint64_t max = walk->options->compare_max ? walk->options->compare_max : COMPARE_MAX;

	walk->compared += len;
	return walk->compared <= max && has_time(walk);
}

bool delta_may_keep(struct delta_walk *walk, size_t text_len)
{
	walk->text_bytes += text_len;
	if (walk->text_bytes > TEXT_MAX)
		walk->delta->is_partial = walk->delta->is_cut = true;
	return walk->text_bytes <= TEXT_MAX;
}

/* Places that are made anew in every sandbox are no change. */
static const char *const scratch_places[] = { "/tmp", "/run", "/var/tmp", "/dev", "/proc", "/sys" };

static bool is_scratch(const char *path)
{
	for (size_t i = 0; i < sizeof(scratch_places) / sizeof(scratch_places[0]); i++)
		if (view_is_below(path, scratch_places[i]))
			return true;
	return false;
}

static bool has_scratch_below(const char *path)
{
	for (size_t i = 0; i < sizeof(scratch_places) / sizeof(scratch_places[0]); i++)
		if (view_is_below(scratch_places[i], path))
			return true;
	return false;
}

/* Whether another unit lies on PATH (or, with BELOW, somewhere below it). */
static bool is_covered(const struct delta_walk *walk, const char *path, bool below)
{
	const struct layer_units *units = walk->units;

	for (size_t i = 0; i < units->count; i++) {
		const char *other = units->items[i].path;

		if (strcmp(other, walk->root.unit->path) == 0 ||
		    !view_is_below(other, walk->root.unit->path))
			continue;
		if (below ? view_is_below(other, path) : view_is_below(path, other))
			return true;
	}
	return false;
}

enum delta_zone delta_zone_of(const struct delta_walk *walk, const char *path)
{
	const char *workspace = walk->options->workspace;
	bool is_inside = !workspace || view_is_below(path, workspace);
	bool is_above = workspace && view_is_below(workspace, path);

	if (is_covered(walk, path, false))
		return ZONE_SKIPPED;
	if (!is_inside && !is_above && (walk->options->only_workspace || is_scratch(path)))
		return ZONE_SKIPPED;
	if (is_covered(walk, path, true))
		return ZONE_MIXED;
	if (is_inside)
		return ZONE_INSIDE;
	return is_above || has_scratch_below(path) ? ZONE_MIXED : ZONE_OUTSIDE;
}
