/* One attempt of a race, in a process of its own: whatever happens to it happens to no other. */
#include "engine/race_attempt.h"

#include "base/fd.h"
#include "base/json_write.h"
#include "base/own.h"
#include "engine/trial.h"
#include "engine/workspace.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MS (UINT64_C(24) * 3600 * 1000)

/* The request of one command of this attempt; borrows nothing. */
static void request_for(const struct engine_race *race, const struct race_attempt *attempt,
			const struct strv *command, struct request *ret_request)
{
	request_init(ret_request);
	settings_copy(&ret_request->flags, &race->request->flags);
	settings_merge(&ret_request->flags, &race->plan->settings);
	settings_merge(&ret_request->flags, &attempt->settings);
	ret_request->trace_id = race->request->trace_id ? xstrdup(race->request->trace_id) : NULL;
	ret_request->environ = race->request->environ;
	strv_addf(&ret_request->flags.env, "AISBX_ATTEMPT=%s", attempt->name);
	strv_copy(&ret_request->command, command);
}

int attempt_make(const struct engine_race *race, const struct race_attempt *attempt,
		 const struct attempt_names *names, struct error *err)
{
	const char *name = names->sandbox;
	const char *base = race->plan->base;
	owned(request_done) struct request request;
	owned(value_release) struct value *made = NULL;

	if (base && !strchr(base, '/')) {
		const struct engine_fork fork = { .from = base,
						  .new_name = name,
						  .ttl_ms = KEPT_MS };

		request_init(&request);
		return engine_fork(&fork, &made, err);
	}
	const struct engine_create create = { .name = name, .ttl_ms = KEPT_MS };

	request_for(race, attempt, &attempt->command, &request);
	request.profile = race->request->profile ? xstrdup(race->request->profile) : NULL;
	if (base || race->request->workspace)
		request.workspace = xstrdup(base ? base : race->request->workspace);
	return engine_create(&request, &create, err);
}

static int run(const struct engine_race *race, const struct race_attempt *attempt,
	       const struct strv *command, const struct attempt_names *names, bool is_check,
	       struct run_result *result, struct error *err)
{
	const struct engine_run_options options = { .capture = true };
	owned(request_done) struct request request;

	request_for(race, attempt, command, &request);
	if (is_check)
		return engine_run_in_fork(names->sandbox, names->check, &request, &options, result,
					  err);
	return engine_run_in(names->sandbox, &request, &options, result, err);
}

static void add_result(struct str *report, const char *key, const struct run_result *result)
{
	str_addf(report, "%s\"%s\":", report->len > 1 ? "," : "", key);
	run_result_write_record(result, report);
}

static int check(const struct engine_race *race, const struct race_attempt *attempt,
		 const struct attempt_names *names, struct str *report, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(strv_done) struct strv command = STRV_INIT;

	run_result_init(&result);
	strv_add(&command, "sh");
	strv_add(&command, "-c");
	strv_add(&command, race->plan->check);
	if (run(race, attempt, &command, names, true, &result, err) < 0)
		return -1;
	add_result(report, "check", &result);
	return 0;
}

static int perform(const struct engine_race *race, const struct race_attempt *attempt,
		   const struct attempt_names *names, struct str *report, struct error *err)
{
	owned(run_result_done) struct run_result setup, result;

	run_result_init(&setup);
	run_result_init(&result);
	if (attempt->setup.count > 0) {
		if (run(race, attempt, &attempt->setup, names, false, &setup, err) < 0)
			return -1;
		if (setup.status != RUN_SUCCESS) {
			add_result(report, "run", &setup);
			return 0;
		}
	}
	if (run(race, attempt, &attempt->command, names, false, &result, err) < 0)
		return -1;
	add_result(report, "run", &result);
	if (result.status != RUN_SUCCESS || !race->plan->check)
		return 0;
	return check(race, attempt, names, report, err);
}

_Noreturn void attempt_main(const struct engine_race *race, const struct race_attempt *attempt,
			    const struct attempt_names *names, int report_fd)
{
	owned(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct str report = STR_INIT;
	struct error err = { 0 };

	for (int i = 0; i < 3; i++)
		(void)dup2(null_fd, i);
	str_add_char(&report, '{');
	if (perform(race, attempt, names, &report, &err) < 0) {
		struct json json;

		str_add(&report, report.len > 1 ? ",\"error\":" : "\"error\":");
		json_init(&json, &report);
		json_text(&json, err.text);
	}
	str_add(&report, "}");
	(void)fd_write_all(report_fd, report.data, report.len);
	_exit(0);
}
