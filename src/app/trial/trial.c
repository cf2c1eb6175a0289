/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in sandboxes that no other command uses. */
#include "app/trial/trial.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "app/run/execute.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/sandbox_policy.h"
#include "app/sandbox/service_copy.h"
#include "app/change/workspace.h"
#include "app/vet/rego.h"
#include "workspace/store/moments.h"

/* Should we be killed, the fork is gone after this all the same. */
#define FORK_TTL_MS (3600u * 1000)

/* A sandbox with services is entered, as by exec: they need its supervisor. Nothing runs in it afterwards. */
static int enter(struct sandbox_place *place, const char *name, const struct request *request,
		 const struct app_run_options *options, struct run_result *ret_result,
		 struct error *err)
{
	struct error ignored;
	bool ended;

	sandbox_place_close(place);
	strv_done(&ret_result->command);
	int status = app_exec(name, request, options, ret_result, err);

	(void)app_stop(name, &ended, &ignored);
	return status;
}

/* STAYS: what it wrote may be promoted, so what that was made from is written down. */
static int run_in(const char *name, const struct request *request,
		  const struct app_run_options *options, bool stays, struct run_result *ret_result,
		  struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(plan_context_done) struct plan_context around = { 0 };
	struct execute how = { .options = options, .upper_fd = -1 };
	owned(pool_leave) struct pool_slot slot = POOL_SLOT_NONE;
	owned(strv_done) struct strv copies = STRV_INIT;
	owned(request_done) struct request whole;
	owned(spec_done) struct spec spec;
	int status;

	spec_init(&spec);
	request_init(&whole);
	ret_result->status = RUN_DENIED;
	strv_copy(&ret_result->command, &request->command);
	if (execute_enter(request, options, &slot, ret_result, err) < 0)
		return -1;
	how.asked_ns = clock_now_ns();
	if (app_store(&place.store, err) < 0)
		return -1;
	place.has_store = true;
	if (sandbox_open(&place.store, name, SANDBOX_SHARED, &place.sandbox, err) < 0)
		return -1;
	place.has_sandbox = true;
	service_copies_of(&place.sandbox, &copies);
	if (copies.count > 0)
		return enter(&place, name, request, options, ret_result, err);
	if (sandbox_request_over(&place.sandbox, request, &whole, &around, err) < 0 ||
	    execute_plan(&whole, &around, &spec, NULL, err) < 0 ||
	    policy_start(&whole, "exec", &spec, NULL, err) < 0)
		return -1;
	how.owner = whole.owner;
	if (sandbox_lay(&place.sandbox, &spec, err) < 0 ||
	    sandbox_open_upper(&place.sandbox, &how.upper_fd, err) < 0)
		return -1;
	status = execute_spec(&spec, &how, ret_result, err);
	moments_add_left(place.sandbox.dir_fd, clock_now_ns());
	fd_close(&how.upper_fd);
	if (stays && status == 0)
		sandbox_capture(&place.sandbox);
	return status;
}

int app_run_in(const char *name, const struct request *request,
	       const struct app_run_options *options, struct run_result *ret_result,
	       struct error *err)
{
	return run_in(name, request, options, true, ret_result, err);
}

int app_run_in_fork(const char *name, const char *fork_name, const struct request *request,
		    const struct app_run_options *options, struct run_result *ret_result,
		    struct error *err)
{
	const struct app_fork fork = {
		.from = name, .new_name = fork_name, .keeps_owner = true, .ttl_ms = FORK_TTL_MS
	};
	owned(value_release) struct value *made = NULL;
	struct error ignored;
	int status;

	if (app_fork(&fork, &made, err) < 0)
		return -1;
	status = run_in(fork_name, request, options, false, ret_result, err);
	(void)app_remove(fork_name, &ignored);
	return status;
}
