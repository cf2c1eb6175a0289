/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a named sandbox from outside: its layers, with what its plan hides. */
#include "base/core/own.h"
#include "confine/mask/mask.h"
#include "app/run/execute.h"
#include "app/sandbox/sandbox_parts.h"
#include "workspace/store/sandbox_record.h"

#include <stdlib.h>

/* What is hidden but for something below it, as /home but for the caller's, is there to lead to it. */
static bool shows(const char *path, void *cookie)
{
	return mask_shows(cookie, path) || mask_keeps_below(cookie, path);
}

static void forget_spec(void *cookie)
{
	spec_done(cookie);
	free(cookie);
}

int sandbox_plan_masks(const struct sandbox *sandbox, struct spec *ret_spec, struct error *err)
{
	owned(plan_context_done) struct plan_context around = { 0 };
	owned(request_done) struct request request = { 0 };

	if (sandbox_look_around(sandbox, &request, &around, err) < 0)
		return -1;
	around.is_view = true;
	/* A plan needs a command; nothing is started. */
	strv_add(&request.command, "true");
	return execute_plan(&request, &around, ret_spec, NULL, err);
}

/* The top itself, or the layer of a snapshot. */
static int open_stack(const struct sandbox *sandbox, const char *name, struct view_stack *ret_stack,
		      struct error *err)
{
	struct snapshot snapshot;
	int upper_fd = -1, status;

	if (!name) {
		if (sandbox_open_upper(sandbox, &upper_fd, err) < 0)
			return -1;
		if (view_open(sandbox->store, sandbox->head, upper_fd, ret_stack, err) < 0)
			return -1;
		/* Root's sandboxes, too, may live in a user namespace. */
		ret_stack->user_xattr[0] = sandbox_has_user_xattr(sandbox);
		return 0;
	}
	if (snapshot_find(sandbox, name, &snapshot, err) < 0)
		return -1;
	status = view_open(sandbox->store, snapshot.layer, -1, ret_stack, err);
	snapshot_done(&snapshot);
	return status;
}

int app_view(const struct sandbox *sandbox, const char *snapshot, struct view_stack *ret_stack,
	     struct error *err)
{
	struct spec *spec = xcalloc(1, sizeof(*spec));

	if (sandbox_plan_masks(sandbox, spec, err) < 0 ||
	    open_stack(sandbox, snapshot, ret_stack, err) < 0) {
		forget_spec(spec);
		return -1;
	}
	ret_stack->shows = shows;
	ret_stack->cookie = spec;
	ret_stack->forget = forget_spec;
	return 0;
}
