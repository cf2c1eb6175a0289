/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and named sandboxes: a command that enters one is judged with all that the sandbox was made with. */
#include "app/sandbox/sandbox_policy.h"

#include "app/run/execute.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/vet/rego.h"
#include "base/core/own.h"

int sandbox_request_over(const struct sandbox *sandbox, const struct request *request,
			 struct request *ret_whole, struct plan_context *around, struct error *err)
{
	if (sandbox_look_around(sandbox, ret_whole, around, err) < 0)
		return -1;
	settings_merge(&ret_whole->flags, &request->flags);
	strv_done(&ret_whole->command);
	strv_copy(&ret_whole->command, &request->command);
	free_ptr(&ret_whole->trace_id);
	ret_whole->trace_id = request->trace_id ? xstrdup(request->trace_id) : NULL;
	ret_whole->environ = request->environ;
	ret_whole->action = request->action;
	ret_whole->policy_fd = request->policy_fd;
	ret_whole->time_is_default = request->time_is_default;
	/* A command in a sandbox of an owner counts for that owner, whichever client asks for it. */
	ret_whole->owner = request->owner ? request->owner : sandbox->owner;
	ret_whole->owner_bytes = request->owner_bytes;
	ret_whole->owner_caches = request->owner_caches;
	return 0;
}

int sandbox_policy(const char *name, const struct request *request, struct spec_limits *ret_most,
		   struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(plan_context_done) struct plan_context around = { 0 };
	owned(request_done) struct request whole;
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	request_init(&whole);
	if (!policy_may_exist())
		return 0;
	if (sandbox_place_open(&place, name, SANDBOX_UNLOCKED, err) < 0 ||
	    sandbox_request_over(&place.sandbox, request, &whole, &around, err) < 0 ||
	    execute_plan(&whole, &around, &spec, NULL, err) < 0)
		return -1;
	free(spec.sandbox);
	spec.sandbox = xstrdup(name);
	return policy_start(&whole, "exec", &spec, ret_most, err);
}

int sandbox_policy_lower(const char *name, const struct spec_limits *most,
			 struct sandbox_state *state, struct spec *spec, struct error *err)
{
	struct spec_limits of_all = *most;
	const char *beyond;

	/* These are the command's own; the others belong to the sandbox, which may run already. */
	of_all.time_ms = of_all.cpu_time_ms = of_all.output_bytes = 0;
	beyond = policy_lower(&state->limits, &of_all);
	if (beyond)
		return error_set(
			err, ERROR_DENIED,
			"denied by policy: '%s' was started with more (--%s) than is allowed now; "
			"`aisbx stop %s` ends it, and it starts with less",
			name, beyond, name);
	(void)policy_lower(&spec->limits, most);
	return 0;
}
