/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan's masks hide. */
#include "spec/mask.h"

#include "base/text/clean_path.h"
#include "base/text/wildcard.h"

#include <linux/limits.h>
#include <string.h>

/* The first mask whose path is not before PATH[0..len); masks are sorted by path. */
static size_t lower_bound(const struct spec *spec, const char *path, size_t len)
{
	size_t low = 0, high = spec->mask_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strncmp(spec->masks[middle].path, path, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The rule that names exactly PATH[0..len), or NULL. Of several for one path KEEP wins. */
static const struct spec_mask *rule_at(const struct spec *spec, const char *path, size_t len)
{
	const struct spec_mask *found = NULL;

	for (size_t i = lower_bound(spec, path, len); i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (strncmp(mask->path, path, len) != 0 || mask->path[len] != '\0')
			break;
		if (mask_is_of_directory(mask->kind) && (!found || mask_kind_shows(mask->kind)))
			found = mask;
	}
	return found;
}

size_t mask_pattern_match(const char *pattern, const char *path)
{
	size_t dir_len = (size_t)(strrchr(pattern, '/') - pattern) + 1;
	char name[NAME_MAX + 1];

	if (strncmp(path, pattern, dir_len) != 0)
		return 0;
	size_t name_len = strcspn(path + dir_len, "/");

	if (name_len == 0 || name_len > NAME_MAX)
		return 0;
	memcpy(name, path + dir_len, name_len);
	name[name_len] = '\0';
	return wildcard_matches(pattern + dir_len, name, 0) ? dir_len + name_len : 0;
}

/* Whether a pattern hides a part of PATH[0..len) that is longer than MORE_THAN. */
static bool pattern_hides(const struct spec *spec, const char *path, size_t len, size_t more_than)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (spec->masks[i].kind != MASK_GLOB)
			continue;
		size_t matched = mask_pattern_match(spec->masks[i].path, path);

		if (matched > more_than && matched <= len)
			return true;
	}
	return false;
}

/* Whether PATH[0..len) shows its real content. */
static bool part_shows(const struct spec *spec, const char *path, size_t len)
{
	const struct spec_mask *rule = NULL;
	size_t at = len;

	while (at > 0 && !(rule = rule_at(spec, path, at))) {
		while (at > 0 && path[--at] != '/')
			;
	}
	return (!rule || mask_kind_shows(rule->kind)) && !pattern_hides(spec, path, len, at);
}

bool mask_shows(const struct spec *spec, const char *path)
{
	return part_shows(spec, path, strlen(path));
}

bool mask_has_file(const struct spec *spec, const char *path)
{
	size_t i = lower_bound(spec, path, strlen(path) + 1);

	return i < spec->mask_count && spec->masks[i].kind == MASK_FILE &&
	       strcmp(spec->masks[i].path, path) == 0;
}

bool mask_parent_shows(const struct spec *spec, const char *path)
{
	return part_shows(spec, path, (size_t)(strrchr(path, '/') - path));
}

bool mask_keeps_below(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if ((mask_kind_shows(mask->kind) || mask->kind == MASK_FILE) &&
		    path_is_within(mask->path, path) && strcmp(mask->path, path) != 0)
			return true;
	}
	for (size_t i = 0; i < spec->bind_count; i++) {
		if (path_is_within(spec->binds[i].target, path))
			return true;
	}
	return false;
}
