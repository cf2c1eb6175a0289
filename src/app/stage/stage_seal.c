/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox changed, sealed as a bundle: contents in the store, sides as data. */
#include "app/change/sealed_side.h"
#include "app/change/secret_look.h"
#include "app/stage/stage_parts.h"

#include "base/core/own.h"
#include "app/change/workspace_parts.h"
#include "workspace/disk/target.h"

static int add_entry(const struct sealed_sides *sides, const struct delta_entry *entry,
		     const char *path, struct bundle *bundle, struct error *err)
{
	struct bundle_change *change = NULL;
	char shown[STR_SHOWN_SIZE];

	if (sealed_is_special(&entry->old) || sealed_is_special(&entry->new))
		return error_advise(err, ERROR_DENIED, "leave it out",
				    "%s: a device, socket or pipe cannot be staged",
				    str_shown(path, shown));
	if (bundle_add(bundle, path, &change, err) < 0)
		return -1;
	if (sealed_base(sides, entry, &change->old, err) < 0 ||
	    sealed_new(sides, entry, &change->new, err) < 0)
		return error_context(err, "%s", str_shown(path, shown));
	/* The host changed, and the sandbox did not. */
	if (bundle_sides_equal(&change->old, &change->new))
		bundle_drop_last(bundle);
	return 0;
}

static int add_entries(const struct sealed_sides *sides, const char *workspace,
		       const struct delta *delta, struct bundle *bundle, struct error *err)
{
	for (size_t i = 0; i < delta->count; i++) {
		const char *path = target_relative(workspace, delta->items[i].path);

		if (path && *path && add_entry(sides, &delta->items[i], path, bundle, err) < 0)
			return -1;
	}
	return 0;
}

int stage_seal(const char *sandbox, const char *snapshot, const struct store *store,
	       struct bundle *ret_bundle, struct error *err)
{
	owned(secret_look_close) struct secret_look look = { 0 };
	owned(opened_close) struct opened opened;
	struct sealed_sides sides = { .stack = NULL };
	struct delta delta = { .count = 0 };
	char why[DELTA_WHY_SIZE];
	struct view_stack stack;
	int status;

	opened_init(&opened);
	if (opened_open(&opened, sandbox, SANDBOX_SHARED, err) < 0 ||
	    secret_look_open(&opened.sandbox, &look, err) < 0 ||
	    app_view(&opened.sandbox, snapshot, &stack, err) < 0)
		return -1;
	const struct delta_options options = { .workspace = opened.sandbox.workspace,
					       .sandbox = &opened.sandbox,
					       .old_from = stack.count,
					       .only_workspace = true,
					       .expand = true };

	status = delta_read(&stack, &options, &delta, err);
	if (status == 0 && delta.is_partial)
		status = error_set(err, ERROR_DENIED, "%s cannot be staged: %s", sandbox,
				   delta_why_partial(&delta, options.workspace, why));
	if (status == 0)
		status = secret_look_delta(&look, &stack, &delta, err);
	if (status == 0)
		status = sealed_sides_open(&sides, &opened.sandbox, &stack, store, err);
	if (status == 0)
		status = add_entries(&sides, opened.sandbox.workspace, &delta, ret_bundle, err);
	delta_done(&delta);
	sealed_sides_done(&sides);
	view_close(&stack);
	if (status == 0 && ret_bundle->count == 0) {
		error_set(err, ERROR_NOT_FOUND, "%s changed nothing that could be staged", sandbox);
		return error_add_hint(err, "aisbx diff %s", sandbox);
	}
	return status;
}
