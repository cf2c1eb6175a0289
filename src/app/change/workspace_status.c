/* SPDX-License-Identifier: Apache-2.0 */
/* How far a sandbox is behind the host: touched files that moved there too, and how many others did. */
#include "app/change/workspace_parts.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "workspace/base/origin.h"

/* The walk for drift is bounded: what it has not seen by then is reported as missing. */
#define WALK_NS 5000000000u

static const char *kind_name(enum stale_kind kind)
{
	switch (kind) {
	case STALE_CHANGED:
		return "changed";
	case STALE_GONE:
		return "gone";
	case STALE_APPEARED:
		return "appeared";
	case STALE_NOT:
		break;
	}
	return "unchanged";
}

static struct value *describe_files(const struct staleness *staleness, const char *workspace)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < staleness->count; i++) {
		const struct stale_entry *entry = &staleness->items[i];
		struct value *map = value_append(list, value_new_map());

		workspace_add_path(map, workspace_relative(entry->path, workspace));
		value_add(map, "kind", value_new_text(kind_name(entry->kind)));
		value_add(map, "changed", workspace_time(entry->changed_ms));
	}
	return list;
}

static uint64_t oldest_ms(const struct staleness *staleness)
{
	uint64_t oldest = 0;

	for (size_t i = 0; i < staleness->count; i++) {
		uint64_t then = staleness->items[i].changed_ms;

		if (then && (!oldest || then < oldest))
			oldest = then;
	}
	return oldest;
}

static struct value *describe(const struct sandbox *sandbox, const struct staleness *staleness,
			      bool is_partial)
{
	struct value *answer = value_new_map();
	struct value *drifted;

	value_add(answer, "sandbox", value_new_text(sandbox->name));
	value_add(answer, "base", value_new_text(sandbox->workspace));
	value_add(answer, "base_taken", workspace_time(sandbox->base_ns / 1000000));
	value_add(answer, "stale", value_new_int((int64_t)staleness->count));
	value_add(answer, "oldest", workspace_time(oldest_ms(staleness)));
	value_add(answer, "drift", value_new_int((int64_t)staleness->drift_count));
	value_add(answer, "files", describe_files(staleness, sandbox->workspace));
	drifted = value_add(answer, "drifted", value_new_list());
	for (size_t i = 0; i < staleness->drift_kept; i++)
		workspace_add_path(
			value_append(drifted, value_new_map()),
			workspace_relative(staleness->drift[i].path, sandbox->workspace));
	value_add(answer, "partial", value_new_bool(is_partial));
	value_add(answer, "clock_stepped", value_new_bool(staleness->clock_stepped));
	return answer;
}

int app_status(const char *sandbox, struct value **ret_answer, struct error *err)
{
	owned(opened_close) struct opened opened;
	struct staleness staleness = { .count = 0 };
	struct delta delta = { .count = 0 };
	struct view_stack stack;
	int status = -1;

	opened_init(&opened);
	if (opened_open(&opened, sandbox, SANDBOX_SHARED, err) < 0 ||
	    app_view(&opened.sandbox, NULL, &stack, err) < 0)
		return -1;
	struct delta_options options = { .workspace = opened.sandbox.workspace,
					 .sandbox = &opened.sandbox,
					 .old_from = stack.count,
					 .only_workspace = true };

	if (delta_read(&stack, &options, &delta, err) == 0)
		status = origin_staleness(&opened.sandbox, &stack, &delta, clock_now_ns() + WALK_NS,
					  &staleness, err);
	if (status == 0)
		*ret_answer = describe(&opened.sandbox, &staleness,
				       staleness.is_partial || delta.is_partial);
	staleness_done(&staleness);
	delta_done(&delta);
	view_close(&stack);
	return status;
}
