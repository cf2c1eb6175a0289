/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt of a race, in a process of its own: whatever happens to it happens to no other. */
#include "app/trial/race_attempt.h"

#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "app/trial/trial.h"
#include "app/change/workspace.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SCORE_FD 3
/* Of a failed check's output that is shown at once; all of it is in the log. */
#define TAIL_LINES 5
#define TAIL_BYTES 2000
#define KEPT_MS (UINT64_C(24) * 3600 * 1000)

/* The request of one command of this attempt; borrows nothing. */
static void request_for(const struct app_race *race, const struct race_attempt *attempt,
			const struct strv *command, struct request *ret_request)
{
	request_init(ret_request);
	settings_copy(&ret_request->flags, &race->request->flags);
	settings_merge(&ret_request->flags, &race->plan->settings);
	settings_merge(&ret_request->flags, &attempt->settings);
	ret_request->trace_id = race->request->trace_id ? xstrdup(race->request->trace_id) : NULL;
	ret_request->environ = race->request->environ;
	ret_request->action = "race";
	ret_request->policy_fd = race->request->policy_fd;
	ret_request->owner = race->request->owner;
	ret_request->owner_bytes = race->request->owner_bytes;
	ret_request->owner_caches = race->request->owner_caches;
	ret_request->only_narrows = race->request->only_narrows;
	strv_addf(&ret_request->flags.env, "AISBX_ATTEMPT=%s", attempt->name);
	strv_copy(&ret_request->command, command);
}

int attempt_make(const struct app_race *race, const struct race_attempt *attempt,
		 const struct attempt_names *names, struct error *err)
{
	const char *name = names->sandbox;
	const char *base = race->plan->base;
	owned(request_done) struct request request;
	owned(value_release) struct value *made = NULL;

	if (base && !strchr(base, '/')) {
		const struct app_fork fork = { .from = base,
					       .new_name = name,
					       .owner = race->request->owner,
					       .ttl_ms = KEPT_MS };

		request_init(&request);
		return app_fork(&fork, &made, err);
	}
	const struct app_create create = { .name = name, .ttl_ms = KEPT_MS };

	request_for(race, attempt, &attempt->command, &request);
	request.profile = race->request->profile ? xstrdup(race->request->profile) : NULL;
	if (race->request->settings_file)
		request.settings_file = xstrdup(race->request->settings_file);
	if (base || race->request->workspace)
		request.workspace = xstrdup(base ? base : race->request->workspace);
	return app_create(&request, &create, err);
}

/* Only the first command of the first attempt is refused where too many calls wait, and all of the race with it. */
static int run(const struct app_race *race, const struct race_attempt *attempt,
	       const struct strv *command, const struct attempt_names *names,
	       struct run_result *result, struct error *err)
{
	bool is_first = attempt == race->plan->attempts &&
			(command == &attempt->setup || attempt->setup.count == 0);
	const struct app_run_options options = { .capture = true,
						 .uses_daemon = race->uses_daemon,
						 .insists = !is_first };
	owned(request_done) struct request request;

	request_for(race, attempt, command, &request);
	return app_run_in(names->sandbox, &request, &options, result, err);
}

static void add_result(struct str *report, const char *key, const struct run_result *result)
{
	str_addf(report, "%s\"%s\":", report->len > 1 ? "," : "", key);
	run_result_write_record(result, report);
}

/* A pipe whose end for writing is descriptor 3, where nothing else is open. */
static int open_score(int *ret_fd, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_errno(err, ERROR_HOST, "no pipe for the score");
	*ret_fd = fcntl(ends[0], F_DUPFD_CLOEXEC, SCORE_FD + 1);
	if (*ret_fd < 0 || (ends[1] != SCORE_FD && dup2(ends[1], SCORE_FD) < 0))
		return error_errno(err, ERROR_HOST, "no descriptor for the score");
	for (int i = 0; i < 2; i++) {
		if (ends[i] != SCORE_FD)
			close(ends[i]);
	}
	return 0;
}

static void add_score(struct str *report, int fd)
{
	char bytes[RACE_SCORE_BYTES];
	ssize_t got = read(fd, bytes, sizeof(bytes));
	struct json json;
	double score;

	(void)close(SCORE_FD);
	if (got <= 0)
		return;
	if (!race_score(bytes, (size_t)got, &score)) {
		str_add(report, ",\"score_is_bad\":true");
		return;
	}
	str_add(report, ",\"score\":");
	json_init(&json, report);
	json_write_real(&json, score);
}

/* Of a failed check, the last lines of what it wrote, on the stream for complaints if there are any: often the reason. */
static void add_tail(struct str *report, const struct run_result *result)
{
	const struct str *kept = result->err.kept.len ? &result->err.kept : &result->out.kept;
	size_t from = kept->len, lines = 0;
	struct json json;

	if (result->status == RUN_SUCCESS || kept->len == 0)
		return;
	while (from > 0 && kept->len - from < TAIL_BYTES) {
		lines += from < kept->len && kept->data[from - 1] == '\n';
		if (lines == TAIL_LINES)
			break;
		from--;
	}
	str_add(report, ",\"check_tail\":");
	json_init(&json, report);
	json_bytes(&json, kept->data + from, kept->len - from);
}

static int check(const struct app_race *race, const struct race_attempt *attempt,
		 const struct attempt_names *names, struct str *report, struct error *err)
{
	const struct app_run_options options = { .capture = true,
						 .has_score = true,
						 .uses_daemon = race->uses_daemon,
						 .insists = true };
	owned(run_result_done) struct run_result result;
	owned(strv_done) struct strv command = STRV_INIT;
	owned(fd_close) int score_fd = -1;
	owned(request_done) struct request request;

	run_result_init(&result);
	request_init(&request);
	if (open_score(&score_fd, err) < 0)
		return -1;
	strv_add_script(&command, race->plan->check);
	request_for(race, attempt, &command, &request);
	if (app_run_in_fork(names->sandbox, names->check, &request, &options, &result, err) < 0)
		return -1;
	add_result(report, "check", &result);
	add_tail(report, &result);
	add_score(report, score_fd);
	return 0;
}

static int perform(const struct app_race *race, const struct race_attempt *attempt,
		   const struct attempt_names *names, struct str *report, struct error *err)
{
	owned(run_result_done) struct run_result setup, result;

	run_result_init(&setup);
	run_result_init(&result);
	if (attempt->setup.count > 0) {
		if (run(race, attempt, &attempt->setup, names, &setup, err) < 0)
			return -1;
		if (setup.status != RUN_SUCCESS) {
			add_result(report, "run", &setup);
			return 0;
		}
	}
	if (run(race, attempt, &attempt->command, names, &result, err) < 0)
		return -1;
	add_result(report, "run", &result);
	if (result.status != RUN_SUCCESS || !race->plan->check)
		return 0;
	return check(race, attempt, names, report, err);
}

_Noreturn void attempt_main(const struct app_race *race, const struct race_attempt *attempt,
			    const struct attempt_names *names, int report_fd)
{
	/* Out of the way: descriptor 3 is the score's, and what the parent has open is none of ours. */
	const int kept[] = { 0, 1, 2, fcntl(report_fd, F_DUPFD_CLOEXEC, SCORE_FD + 1),
			     race->request->policy_fd };
	owned(fd_close) int null_fd = -1;
	struct str report = STR_INIT;
	struct error err = { 0 };

	fd_close_others(kept, sizeof(kept) / sizeof(kept[0]));
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		(void)dup2(null_fd, i);
	fd_close(&null_fd);
	str_add_char(&report, '{');
	if (perform(race, attempt, names, &report, &err) < 0) {
		struct json json;

		str_add(&report, report.len > 1 ? ",\"error\":" : "\"error\":");
		json_init(&json, &report);
		json_text(&json, err.text);
		if (err.code == ERROR_BUSY)
			str_add(&report, ",\"is_busy\":true");
		if (err.code == ERROR_DENIED)
			str_add(&report, ",\"is_denied\":true");
	}
	str_add(&report, "}");
	(void)fd_write_all(kept[3], report.data, report.len);
	_exit(0);
}
