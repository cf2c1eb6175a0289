/* SPDX-License-Identifier: Apache-2.0 */
/* How two attempts of a race differ. */
#include "app/change/secret_look.h"
#include "app/trial/race.h"

#include "base/core/own.h"
#include "app/change/workspace_branch.h"
#include "app/change/workspace_parts.h"

struct racer_view {
	struct opened opened;
	struct view_stack stack;
	struct layer_chain chain;
	bool has_view;
};

static void racer_view_done(struct racer_view *view)
{
	if (view->has_view) {
		view_close(&view->stack);
		layer_chain_done(&view->chain);
	}
	opened_close(&view->opened);
}

static int look_at(const char *race_id, const char *name, struct racer_view *view,
		   struct error *err)
{
	owned(free_ptr) char *sandbox = xasprintf("%s.%s", race_id, name);

	if (opened_open(&view->opened, sandbox, SANDBOX_SHARED, err) < 0 ||
	    layer_chain_read(view->opened.sandbox.store, view->opened.sandbox.head, &view->chain,
			     err) < 0)
		return -1;
	if (app_view(&view->opened.sandbox, NULL, &view->stack, err) < 0) {
		layer_chain_done(&view->chain);
		return -1;
	}
	view->has_view = true;
	return 0;
}

static int add_text(void *cookie, const char *bytes, size_t len, struct error *err)
{
	(void)err;
	str_add_bytes(cookie, bytes, len);
	return 0;
}

int app_race_diff(const char *race_id, const char *a, const char *b, struct str *ret_text,
		  bool *ret_differs, struct error *err)
{
	owned(racer_view_done) struct racer_view old = { 0 }, new = { 0 };
	const struct patch_sink sink = { add_text, ret_text };
	owned(secret_veil_close) struct secret_veil veil = { .sink = &sink };
	struct patch_options options = { .form = PATCH_UNIFIED, .context = 3 };
	struct branch branch;
	int status;

	opened_init(&old.opened);
	opened_init(&new.opened);
	if (look_at(race_id, a, &old, err) < 0 || look_at(race_id, b, &new, err) < 0)
		return -1;
	size_t common = layer_chain_common(&old.chain, &new.chain);
	const struct branch_end ends[] = { { &old.stack, old.stack.count - common },
					   { &new.stack, new.stack.count - common } };

	options.workspace = new.opened.sandbox.workspace;
	if (branch_read(&ends[0], &ends[1], options.workspace, &branch, err) < 0)
		return -1;
	*ret_differs = branch.delta.count > 0;
	status = secret_veil_open(&new.opened.sandbox, &veil, err);
	if (status == 0)
		status = patch_write(&branch.stack, &branch.delta, &options,
				     &(struct patch_sink){ secret_veil_add, &veil }, err);
	if (status == 0)
		status = secret_veil_end(&veil, err);
	branch_done(&branch);
	return status;
}
