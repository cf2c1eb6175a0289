/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of a server's clients: asked about, and on record like any other run. */
#include "app/record/log_room.h"
#include "app/record/record.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/serve/served.h"
#include "app/vet/rego.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "history/spool.h"
#include "run/log.h"

bool served_must_judge(const struct served_facts *facts)
{
	return facts->is_vetted || policy_may_exist();
}

int served_judge(const struct served_plan *plan, const struct served_order *order,
		 uint64_t *ret_time_ms, struct error *err)
{
	owned(request_done) struct request request;

	request_init(&request);
	request.owner = plan->owner;
	request.environ = plan->request->environ;
	/* Nothing ends a command by itself that may be meant to stay, unless the server was told so. */
	request.interactive = true;
	strv_copy(&request.command, order->command);
	strv_copy(&request.flags.env, order->env);
	return sandbox_judge(order->sandbox, &request, ret_time_ms, err);
}

int served_dirs(char **ret_state, char **ret_store, struct error *err)
{
	owned(host_done) struct host host = { 0 };

	if (host_read_caller(&host, err) < 0)
		return -1;
	*ret_state = xstrdup(host.state_dir);
	*ret_store = xstrdup(host.data_dir);
	return 0;
}

/* As much of a spec as a record has of it. */
static void describe(const struct served_plan *plan, const struct served_order *order,
		     const char *run_id, struct spec *ret_spec)
{
	spec_init(ret_spec);
	ret_spec->run_id = xstrdup(run_id);
	ret_spec->sandbox = xstrdup(order->sandbox);
	ret_spec->driver = xstrdup("linux");
	ret_spec->workspace = xstrdup("/home/user");
	ret_spec->state_dir = xstrdup(plan->state_dir);
	strv_copy(&ret_spec->command, order->command);
}

int served_run_begin(const struct served_plan *plan, const struct served_order *order,
		     struct served_run *ret_run, struct error *err)
{
	owned(fd_close) int fd = -1; /* not kept: a server has many of these at once */
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	*ret_run =
		(struct served_run){ .started_ms = clock_epoch_ms(), .started_ns = clock_now_ns() };
	if (id_run(ret_run->run_id, err) < 0)
		return -1;
	describe(plan, order, ret_run->run_id, &spec);
	if (record_start(&spec, plan->owner, &fd, err) < 0)
		return -1;
	strv_copy(&ret_run->command, order->command);
	return 0;
}

static void keep_output(const char *state_dir, const char *run_id, const struct str *tails)
{
	struct run_log log;

	run_log_init(&log, state_dir, run_id, UINT64_MAX);
	for (unsigned i = 0; i < 2; i++) {
		if (tails[i].len > 0)
			run_log_add(&log, i ? 'e' : 'o', tails[i].data, tails[i].len);
	}
	run_log_done(&log);
}

void served_run_end(const struct served_plan *plan, const char *sandbox, struct served_run *run,
		    const struct served_end *end)
{
	owned(run_result_done) struct run_result result;
	owned(fd_close) int fd = -1;
	struct error ignored;

	run_result_init(&result);
	result.run_id = xstrdup(run->run_id);
	result.sandbox = xstrdup(sandbox);
	result.driver = xstrdup("linux");
	strv_copy(&result.command, &run->command);
	result.status = end->status;
	result.exit_code = end->exit_code;
	result.signal = end->signal;
	result.out.bytes = end->bytes[0];
	result.err.bytes = end->bytes[1];
	result.started_ms = run->started_ms;
	result.duration_ms = (double)(clock_now_ns() - run->started_ns) / 1e6;
	result.message = end->message ? xstrdup(end->message) : NULL;
	if (end->status == RUN_TIMEOUT)
		strv_add(&result.limits_hit, "time");
	if (end->tails) {
		result.truncated =
			end->tails[0].len < end->bytes[0] || end->tails[1].len < end->bytes[1];
		keep_output(plan->state_dir, run->run_id, end->tails);
	}
	if (spool_open(plan->state_dir, &fd, &ignored) == 0)
		(void)record_end(&result, fd, &ignored);
	/* What was kept, and not what a sandbox says that it wrote. */
	result.out.bytes = end->tails ? end->tails[0].len : 0;
	result.err.bytes = end->tails ? end->tails[1].len : 0;
	log_room_keep(plan->state_dir, plan->owner, &result);
	strv_done(&run->command);
}
