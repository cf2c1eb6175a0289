/* SPDX-License-Identifier: Apache-2.0 */
/* A set of paths: open addressing, at most half full. */
#include "workspace/disk/path_set.h"

#include "base/core/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Paths that meet cost time only, and a walk's time is bounded. */
static uint64_t hash(const char *path)
{
	uint64_t value = 14695981039346656037u;

	for (; *path; path++)
		value = (value ^ (unsigned char)*path) * 1099511628211u;
	return value;
}

/* Where PATH is, or would be. */
static size_t find(const struct path_set *set, const char *path)
{
	size_t at = hash(path) & (set->size - 1);

	while (set->slots[at] && strcmp(set->slots[at], path) != 0)
		at = (at + 1) & (set->size - 1);
	return at;
}

static void grow(struct path_set *set)
{
	struct path_set larger = { .size = set->size ? set->size * 2 : 64, .count = set->count };

	larger.slots = xcalloc(larger.size, sizeof(*larger.slots));
	for (size_t i = 0; i < set->size; i++)
		if (set->slots[i])
			larger.slots[find(&larger, set->slots[i])] = set->slots[i];
	free(set->slots);
	*set = larger;
}

void path_set_done(struct path_set *set)
{
	for (size_t i = 0; i < set->size; i++)
		free(set->slots[i]);
	free(set->slots);
	*set = (struct path_set){ 0 };
}

bool path_set_has(const struct path_set *set, const char *path)
{
	return set->count > 0 && set->slots[find(set, path)];
}

bool path_set_add(struct path_set *set, const char *path)
{
	if (set->count * 2 >= set->size)
		grow(set);
	size_t at = find(set, path);

	if (set->slots[at])
		return false;
	set->slots[at] = xstrdup(path);
	set->count++;
	return true;
}
