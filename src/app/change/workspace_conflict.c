/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts with the host as events: which path, what each side is, which lines, and what may be done about it. */
#include "app/change/workspace_conflict.h"

#include "app/change/workspace_parts.h"

#include <stdio.h>
#include <string.h>

/* What decides a conflict of each kind; the names are those of --strategy. */
static const struct {
	const char *kind;
	const char *choices[6];
} choice_rows[] = {
	{ "content", { "theirs", "ours", "merge+theirs", "merge+ours", "into-sandbox" } },
	{ "add/add", { "theirs", "ours", "merge+theirs", "merge+ours", "into-sandbox" } },
	{ "busy", { "retry" } },
	{ "base-lost", { "theirs", "ours", "refresh" } },
	{ "", { "theirs", "ours" } },
};

struct value *workspace_choices(const char *kind)
{
	struct value *list = value_new_list();
	size_t row = 0;

	while (choice_rows[row].kind[0] && strcmp(choice_rows[row].kind, kind) != 0)
		row++;
	for (size_t i = 0; choice_rows[row].choices[i]; i++)
		value_append(list, value_new_text(choice_rows[row].choices[i]));
	return list;
}

static const char *type_name(char type)
{
	switch (type) {
	case 'f':
		return "file";
	case 'd':
		return "directory";
	case 'l':
		return "link";
	case 'p':
		return "fifo";
	case 's':
		return "socket";
	case 'c':
	case 'b':
		return "device";
	default:
		return NULL;
	}
}

static struct value *describe_side(const struct conflict_side *side)
{
	struct value *map = value_new_map();
	char mode[8];

	value_add(map, "exists", value_new_bool(side->exists));
	value_add(map, "type", value_new_text(side->exists ? type_name(side->type) : NULL));
	value_add(map, "sha256", value_new_text(side->sha256[0] ? side->sha256 : NULL));
	if (!side->exists)
		return map;
	(void)snprintf(mode, sizeof(mode), "%04o", (unsigned)(side->identity.mode & 07777));
	value_add(map, "size", value_new_int((int64_t)side->identity.size));
	value_add(map, "mode", value_new_text(mode));
	value_add(map, "uid", value_new_int(side->identity.uid));
	value_add(map, "gid", value_new_int(side->identity.gid));
	value_add(map, "modified", workspace_time((uint64_t)side->identity.mtime_ns / 1000000));
	value_add(map, "changed", workspace_time((uint64_t)side->identity.ctime_ns / 1000000));
	return map;
}

/* Lines are counted from 1, as editors do. */
static void add_range(struct value *map, const char *key, size_t start, size_t count)
{
	struct value *range = value_add(map, key, value_new_list());

	value_append(range, value_new_int((int64_t)start + 1));
	value_append(range, value_new_int((int64_t)count));
}

static struct value *describe_hunks(const struct conflict *conflict)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < conflict->hunk_count; i++) {
		const struct merge_conflict *hunk = &conflict->hunks[i];
		struct value *map = value_append(list, value_new_map());

		add_range(map, "base", hunk->base_start, hunk->base_count);
		add_range(map, "ours", hunk->ours_start, hunk->ours_count);
		add_range(map, "theirs", hunk->theirs_start, hunk->theirs_count);
	}
	return list;
}

struct value *workspace_conflict_event(const struct conflict *conflict,
				       const struct promote_request *request, const char *workspace)
{
	struct value *event = value_new_map();
	struct value *base;

	value_add(event, "event", value_new_text("conflict"));
	value_add(event, "id", value_new_text(conflict->id));
	value_add(event, "sandbox", value_new_text(request->sandbox_name));
	value_add(event, "snapshot", value_new_text(request->snapshot));
	workspace_add_path(event, workspace_relative(conflict->path, workspace));
	value_add(event, "kind", value_new_text(conflict->kind));
	base = value_add(event, "base", describe_side(&conflict->base));
	value_add(base, "quality", value_new_text(origin_quality_name(conflict->base_quality)));
	value_add(event, "ours", describe_side(&conflict->ours));
	value_add(event, "theirs", describe_side(&conflict->theirs));
	value_add(event, "hunks", describe_hunks(conflict));
	value_add(event, "names", workspace_paths(&conflict->names));
	value_add(event, "resolution", value_new_text(conflict->resolution));
	value_add(event, "loser", value_new_text(conflict->loser[0] ? conflict->loser : NULL));
	struct value *choices = value_add(event, "choices", workspace_choices(conflict->kind));

	if (conflict->base_quality == ORIGIN_APPROX && strcmp(conflict->kind, "base-lost") == 0)
		value_append(choices, value_new_text("approx-base"));
	return event;
}
