/* SPDX-License-Identifier: Apache-2.0 */
/* The only place where the parts meet: request to spec, spec to run, run to record. */
#include "app/run/run_request.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "driver/driver.h"
#include "app/pool/pool.h"
#include "app/run/execute.h"
#include "app/config/profile_load.h"
#include "app/run/warm_cache.h"
#include "app/run/wasm_ready.h"
#include "app/vet/rego.h"

#include <string.h>

int app_plan(const struct request *request, struct spec *ret_spec, struct error *err)
{
	owned(plan_context_done) struct plan_context around;

	if (plan_context_read(request, &around, err) < 0)
		return -1;
	return execute_plan(request, &around, ret_spec, NULL, err);
}

/*
 * Whether the plan will be one of the common kind, as far as the request shows: a start that was begun for another is
 * thrown away, and has cost time.
 */
static bool is_common(const struct request *request, const struct app_run_options *options,
		      const struct plan_context *around)
{
	const struct settings *flags = &request->flags;

	return (!flags->driver || strcmp(flags->driver, "linux") == 0) &&
	       (!flags->net || strcmp(flags->net, "none") == 0) && flags->allow.count == 0 &&
	       request->allow.count == 0 && flags->publish.count == 0 && flags->secret.count == 0 &&
	       flags->secret_env.count == 0 && flags->secret_header.count == 0 && !flags->seccomp &&
	       !flags->scan && !flags->require_signature && !flags->cache &&
	       flags->allow_degraded.count == 0 && !request->settings_file && !options->compiles &&
	       !options->has_score && !options->seen && options->zygote_pool_fd <= 0 &&
	       !app_profile_needs_yaml(request, around->paths.workspace);
}

/* What is begun while the plan is made; NULL: nothing. */
static struct launch_prestart *begin(const struct request *request,
				     const struct app_run_options *options,
				     const struct plan_context *around)
{
	const struct driver *driver = driver_find("linux");
	struct error ignored;
	struct spec_ids ids;

	if (!driver || !driver->begin || plan_ids(&around->host, &ids, &ignored) < 0)
		return NULL;
	/* A plain user's init has the overlays to mount, and then more to do than two processors have time for: it got slower. */
	if (ids.count == 1)
		return NULL;
	return is_common(request, options, around) ? driver->begin(&ids) : NULL;
}

static void abandon(struct launch_prestart **prestart)
{
	if (*prestart)
		driver_find("linux")->abandon(*prestart);
}

/* The plan of a run, all but what belongs to a sandbox that is ready. */
static int plan_run(const struct request *request, const struct app_run_options *options,
		    struct plan_context *around, struct spec *ret_spec, struct error *err)
{
	if (plan_context_look(options->memory, around, err) < 0 ||
	    execute_plan(request, around, ret_spec, NULL, err) < 0)
		return -1;
	if (policy_start && !options->is_own &&
	    policy_start(request, "run", ret_spec, NULL, err) < 0)
		return -1;
	return options->compiles
		       ? 0
		       : wasm_make_ready(ret_spec, request->environ, &ret_spec->notes, err);
}

/* Its turn, once others are through: then what was planned is old, and is planned anew. */
static int wait_turn(const struct request *request, const struct app_run_options *options,
		     struct plan_context *around, struct pool_slot *slot, struct spec *spec,
		     struct error *err)
{
	int waited = pool_wait(slot, err);

	if (waited <= 0)
		return waited;
	spec_done(spec);
	spec_init(spec);
	plan_context_done(around);
	if (plan_context_find(request, around, err) < 0)
		return -1;
	slot->runtime_dir = around->host.runtime_dir;
	return plan_run(request, options, around, spec, err);
}

int app_run(const struct request *request, const struct app_run_options *options,
	    struct run_result *ret_result, struct error *err)
{
	owned(plan_context_done) struct plan_context around;
	owned(spec_done) struct spec spec;
	owned(abandon) struct launch_prestart *prestart = NULL;
	owned(pool_leave) struct pool_slot slot = POOL_SLOT_NONE;
	struct warm_cache cache;
	uint64_t asked_ns = clock_now_ns();
	const struct pool_wish wish = { .will_ask = true, .insists = options->insists };

	spec_init(&spec);
	ret_result->status = RUN_DENIED;
	strv_copy(&ret_result->command, &request->command);
	if (plan_context_find(request, &around, err) < 0 ||
	    (!options->is_own && policy_hand_over(err) < 0))
		return -1;
	/* Either is begun while the plan is made; a sandbox that is ready has all that could be begun. */
	if (options->uses_daemon &&
	    pool_enter(around.host.runtime_dir, request->environ, wish, &slot, err) < 0)
		return -1;
	if (slot.fd < 0)
		prestart = begin(request, options, &around);
	if (plan_run(request, options, &around, &spec, err) < 0 ||
	    wait_turn(request, options, &around, &slot, &spec, err) < 0)
		return -1;
	if (slot.fd >= 0)
		prestart = pool_take(&slot, &spec);
	ret_result->queued_ms = slot.queued_ms;
	struct execute how = { .options = options,
			       .asked_ns = asked_ns + slot.queued_ms * 1000000,
			       .upper_fd = -1 };

	how.owner = request->owner;
	how.prestart = spec.cache ? NULL : &prestart;
	if (warm_cache_begin(&spec, &cache, err) < 0)
		return -1;
	how.upper_fd = cache.top_fd;
	int status = execute_spec(&spec, &how, ret_result, err);

	warm_cache_end(&spec, &cache, ret_result);
	return status;
}
