/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a job: what it takes is written down, it is run and verified, promoted as its policy says, and cleaned up. */
#include "app/job/job_parts.h"

#include "app/record/history.h"
#include "app/record/record.h"
#include "app/sandbox/owner.h"
#include "app/stage/approval.h"
#include "app/trial/race.h"
#include "app/vet/rego.h"
#include "app/change/workspace.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "workspace/store/sandbox.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ROWS_KEPT 50
#define HOUR_MS (UINT64_C(3600) * 1000)

static void set_time(struct value *map, const char *key)
{
	char now[32];

	time_format_utc(clock_epoch_ms(), now);
	value_set(map, key, value_new_text(now));
}

/* Newest first, so many. */
static void add_row(struct job_place *place, const struct value *row)
{
	struct value *rows = value_new_list(), *old = value_take(place->state, "runs");
	struct value *copy = value_append(rows, value_new_map());

	for (size_t i = 0; i < row->many.count; i++) {
		const struct value *item = row->many.items[i];

		if (item->kind == VALUE_TEXT)
			value_add(copy, row->many.keys[i], value_new_text(item->text.bytes));
		else if (item->kind == VALUE_INT)
			value_add(copy, row->many.keys[i], value_new_int(item->integer));
	}
	for (size_t i = 0; old && old->kind == VALUE_LIST && i < old->many.count; i++) {
		if (i + 1 < ROWS_KEPT) {
			value_append(rows, old->many.items[i]);
			old->many.items[i] = value_new_null();
		}
	}
	value_free(old);
	value_set(place->state, "runs", rows);
}

/* Whether a request about SANDBOX waits for a person. */
static bool is_asked_about(const struct value *asks, const char *sandbox)
{
	size_t len = strlen(sandbox);

	for (size_t i = 0; asks && i < asks->many.count; i++) {
		const char *of = value_get_text(asks->many.items[i], "sandbox");

		if (of && str_same(value_get_text(asks->many.items[i], "state"), "pending") &&
		    strncmp(of, sandbox, len) == 0 && (of[len] == '@' || !of[len]))
			return true;
	}
	return false;
}

/* Removes the job's sandboxes, but for those that a person is asked about. */
static int sweep(const struct job_place *place, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(value_release) struct value *asks = NULL;
	owned(strv_done) struct strv names = STRV_INIT;
	struct error ignored;

	if (approval_list(place->owner, &asks, err) < 0 || app_store(&store, err) < 0 ||
	    sandbox_list(&store, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		struct sandbox sandbox;
		bool is_ours;

		if (sandbox_open(&store, names.items[i], SANDBOX_UNLOCKED, &sandbox, &ignored) < 0)
			continue;
		is_ours = owner_has(&sandbox, place->owner);
		sandbox_close(&sandbox);
		if (is_ours && !is_asked_about(asks, names.items[i]) &&
		    app_remove(names.items[i], err) < 0 && err->code != ERROR_NOT_FOUND)
			return -1;
	}
	return 0;
}

/* Withdraws the job's requests that wait, but for BUT_ID, and for those from before SINCE (NULL: none is too old). */
static void withdraw(const struct job_place *place, const char *but_id, const char *since)
{
	owned(value_release) struct value *asks = NULL;
	struct error ignored;

	if (approval_list(place->owner, &asks, &ignored) < 0)
		return;
	for (size_t i = 0; i < asks->many.count; i++) {
		const char *id = value_get_text(asks->many.items[i], "request_id");
		const char *made = value_get_text(asks->many.items[i], "made");
		owned(value_release) struct value *answer = NULL;

		if (id && !str_same(id, but_id) && (!since || (made && strcmp(made, since) >= 0)) &&
		    str_same(value_get_text(asks->many.items[i], "state"), "pending"))
			(void)approval_decide(id, false, place->env, &answer, &ignored);
	}
}

/* Adds to a count that begins anew with each PERIOD. */
static void count(struct value *state, const char *period_key, int64_t period, const char *key,
		  int64_t more)
{
	int64_t before = value_int_of(state, period_key) == period ? value_int_of(state, key) : 0;

	value_set(state, period_key, value_new_int(period));
	value_set(state, key, value_new_int(before + more));
}

/* Counts what the job's commands, tests and gates since SINCE_MS took of the processor; unknown, it is the time that passed. */
static void count_spent(struct job_place *place, uint64_t since_ms)
{
	owned(history_release) struct history *history = NULL;
	owned(value_release) struct value *rows = NULL;
	const struct history_filter filter = { .owner = place->owner, .since_ms = since_ms };
	uint64_t now_ms = clock_epoch_ms();
	struct error ignored;
	double spent_ms = 0;

	if (app_history(&history, &ignored) < 0 ||
	    history_list(history, &filter, &rows, &ignored) < 0)
		spent_ms = now_ms > since_ms ? (double)(now_ms - since_ms) : 0;
	for (size_t i = 0; rows && i < rows->many.count; i++) {
		const struct value *one = value_get(rows->many.items[i], "cpu_ms");

		spent_ms += one && one->kind == VALUE_REAL ? one->real : 0;
	}
	count(place->state, "day", job_local_day(now_ms), "day_cpu_ms", (int64_t)spent_ms + 1);
}

int job_recover(struct job_place *place, struct error *err)
{
	owned(value_release) struct value *running = value_take(place->state, "running");
	bool is_killed = running && running->kind == VALUE_MAP;
	uint64_t since_ms;

	if (!is_killed && !value_get(place->state, "unswept"))
		return 0;
	/* What it asked for is not verified to its end. */
	if (is_killed)
		withdraw(place, NULL, value_get_text(running, "started"));
	if (sweep(place, err) < 0)
		return -1;
	value_free(value_take(place->state, "unswept"));
	if (!is_killed)
		return job_save(place, err);
	since_ms = (uint64_t)value_int_of(running, "started_ms");
	if (since_ms)
		count_spent(place, since_ms);
	bool is_stopped = !value_is_true(running, "promotes") &&
			  job_is_stopped(place, value_int_of(running, "pid"));

	value_free(value_take(running, "promotes"));
	value_free(value_take(running, "started_ms"));
	value_free(value_take(running, "pid"));
	value_free(value_take(running, "began"));
	set_time(running, "ended");
	value_set(running, "result", value_new_text(is_stopped ? "stopped" : "killed"));
	add_row(place, running);
	return job_save(place, err);
}

/* The policy's word, where it may have one: gates that hold for exactly what was asked about. */
static int decide_by_gates(struct job_place *place, const struct value *ask, struct value *row,
			   struct error *err)
{
	const struct app_task task = job_as_task(place);
	owned(value_release) struct value *gates = NULL, *decided = NULL;
	bool holds = false;

	if (!approval_may_gates_decide(ask)) {
		value_set(row, "note",
			  value_new_text("gates do not decide about files that could make "
					 "something run, or that belong to git: a person does"));
		return 0;
	}
	if (app_task_gates(&task, value_get_text(ask, "sandbox"), &gates, &holds, err) < 0)
		return -1;
	if (!holds) {
		value_set(row, "note", value_new_text("a gate no longer held: a person decides"));
		return 0;
	}
	if (job_may_not_promote(place)) {
		withdraw(place, NULL, NULL);
		value_set(row, "result", value_new_text("stopped"));
		return 0;
	}
	if (approval_decide(value_get_text(ask, "request_id"), true, place->env, &decided, err) < 0)
		return -1;
	value_set(row, "result", value_new_text("promoted"));
	value_set(row, "promotion_id", value_new_text(value_get_text(decided, "promotion_id")));
	return 1;
}

static int promote(struct job_place *place, const char *sandbox, struct value *row,
		   struct error *err)
{
	owned(free_ptr) char *reason =
		xasprintf("%s: %s", place->owner, value_get_text(row, "why"));
	const struct approval_request ask = { .kind = APPROVAL_PROMOTION,
					      .sandbox = sandbox,
					      .reason = reason,
					      .owner = place->owner,
					      .environ = place->env };
	owned(value_release) struct value *asked = NULL;

	if (place->job.promote == JOB_PROMOTE_NEVER)
		return 0;
	if (approval_make(&ask, &asked, err) < 0) {
		/* Nothing to promote. */
		return err->code == ERROR_USAGE ? 0 : -1;
	}
	/* Those of earlier runs are about something older. */
	withdraw(place, value_get_text(asked, "request_id"), NULL);
	value_set(row, "result", value_new_text("asked"));
	value_set(row, "request_id", value_new_text(value_get_text(asked, "request_id")));
	value_set(row, "files", value_new_int(value_int_of(asked, "files")));
	if (place->job.promote != JOB_PROMOTE_GATES)
		return 0;
	return decide_by_gates(place, asked, row, err) < 0 ? -1 : 0;
}

/* Runs the race: its winner's sandbox, owned by the caller; NULL without an error when there is none. */
static int run_race(const struct job_place *place, struct value *row, char **ret_sandbox,
		    bool *ret_pass, struct error *err)
{
	const struct app_task given = job_as_task(place);
	owned(value_release) struct value *answer = NULL, *gates = NULL;
	owned(race_plan_done) struct race_plan plan;
	owned(task_done) struct task task;
	struct app_race race = { .plan = &plan, .request = &task.request };
	const char *winner;

	race_plan_init(&plan);
	task_init(&task);
	if (race_read(str_cstr(&place->more), place->more.len, JOB_RACE, &plan, err) < 0 ||
	    task_read(place->job.work, place->owner, &task, err) < 0)
		return -1;
	task.request.environ = place->env;
	task.request.owner = place->owner;
	task.request.workspace = xstrdup(place->workspace);
	if (app_race(&race, &answer, err) < 0)
		return -1;
	winner = value_get_text(answer, "winner");
	value_set(row, "run_id", value_new_text(value_get_text(answer, "race_id")));
	if (!winner)
		return 0;
	*ret_sandbox = xasprintf("%s.%s", value_get_text(answer, "race_id"), winner);
	if (task.gates.count == 0) {
		*ret_pass = true;
		return 0;
	}
	return app_task_gates(&given, *ret_sandbox, &gates, ret_pass, err);
}

static int run_task(const struct job_place *place, struct value *row, char **ret_sandbox,
		    bool *ret_pass, struct error *err)
{
	const struct app_task task = job_as_task(place);
	owned(value_release) struct value *answer = NULL;
	const struct value *run;

	if (app_task(&task, &answer, ret_pass, err) < 0)
		return -1;
	run = value_get(answer, "run");
	*ret_sandbox = xstrdup(value_get_text(answer, "sandbox"));
	value_set(row, "run_id", value_new_text(value_get_text(run, "run_id")));
	value_set(row, "status", value_new_text(value_get_text(run, "status")));
	return 0;
}

/* About the job itself; what it starts and promotes is asked about by itself. */
static int ask_policy(const struct job_place *place, struct error *err)
{
	struct value *input = value_new_map();
	struct value *job = value_add(input, "job", value_new_map());

	value_add(job, "name", value_new_text(place->name));
	return policy_call("job", input, 0, err);
}

/* Runs, verifies, promotes; ROW has what came of it, also of a failure of our own. */
static void work(struct job_place *place, struct value *row)
{
	owned(free_ptr) char *sandbox = NULL;
	struct error err = { 0 };
	bool pass = false;
	int status;

	status = chdir(place->workspace) < 0 ? error_errno(&err, ERROR_HOST, "%s", place->workspace)
		 : ask_policy(place, &err) < 0 ? -1
		 : place->job.race	       ? run_race(place, row, &sandbox, &pass, &err)
					       : run_task(place, row, &sandbox, &pass, &err);
	if (sandbox)
		value_set(row, "sandbox", value_new_text(sandbox));
	value_set(row, "result", value_new_text(pass ? "pass" : "fail"));
	if (job_is_stopped(place, getpid())) {
		value_set(row, "result", value_new_text("stopped"));
		return;
	}
	if (status == 0 && pass)
		status = promote(place, sandbox, row, &err);
	if (status < 0) {
		value_set(row, "result", value_new_text("fail"));
		value_set(row, "error", value_new_text(err.text));
	}
}

static bool has_result(const struct value *row, const char *result)
{
	return strcmp(value_get_text(row, "result"), result) == 0;
}

/* What this run works on. Where that cannot be determined it is work to be done. */
struct job_input {
	struct strv lines;
	char digest[SHA256_HEX_SIZE];
	bool is_known;
};

/* What the promotion itself changed is no new work; what others changed meanwhile is. */
static void note_worked(struct job_place *place, const struct job_input *input,
			const struct value *row)
{
	owned(strv_done) struct strv after = STRV_INIT;
	owned(value_release) struct value *promotions = NULL;
	const char *id = value_get_text(row, "promotion_id");
	char before_hex[SHA256_HEX_SIZE], after_hex[SHA256_HEX_SIZE];
	const struct value *paths = NULL;
	struct error ignored;

	value_set(place->state, "worked", value_new_text(input->digest));
	if (!id || app_promotions(&promotions, &ignored) < 0 ||
	    job_inputs(place, &after, &ignored) < 0)
		return;
	for (size_t i = 0; i < promotions->many.count && !paths; i++) {
		if (str_same(value_get_text(promotions->many.items[i], "promotion_id"), id))
			paths = value_get(promotions->many.items[i], "paths");
	}
	if (!paths || paths->kind != VALUE_LIST)
		return;
	job_lines_digest(place, &input->lines, paths, before_hex);
	job_lines_digest(place, &after, paths, after_hex);
	if (strcmp(before_hex, after_hex) != 0)
		return;
	job_lines_digest(place, &after, NULL, after_hex);
	value_set(place->state, "worked", value_new_text(after_hex));
}

static int begin(struct job_place *place, const struct job_turn *turn, struct value *row,
		 struct error *err)
{
	struct value *running = value_new_map();

	set_time(row, "started");
	value_set(row, "why", value_new_text(str_cstr(&turn->why)));
	value_set(running, "started", value_new_text(value_get_text(row, "started")));
	value_set(running, "why", value_new_text(value_get_text(row, "why")));
	value_set(running, "started_ms", value_new_int((int64_t)clock_epoch_ms()));
	value_set(running, "pid", value_new_int(getpid()));
	value_set(running, "began", value_new_int((int64_t)process_began(getpid())));
	job_unmark_stopped(place);
	value_set(place->state, "running", running);
	count(place->state, "hour", (int64_t)(clock_epoch_ms() / HOUR_MS), "hour_runs", 1);
	return job_save(place, err);
}

static int end(struct job_place *place, const struct job_input *input, struct value *row,
	       struct error *err)
{
	const struct record_event event = { .kind = "job",
					    .sandbox = value_get_text(row, "sandbox"),
					    .id = value_get_text(row, "run_id"),
					    .body = row };
	bool failed = has_result(row, "fail");
	int status = 0;

	set_time(row, "ended");
	value_set(row, "job", value_new_text(place->name));
	/* What could not be done is not done: only a verdict about the inputs counts as work on them. */
	if (input->is_known && !value_get_text(row, "error") && !has_result(row, "stopped") &&
	    !(failed && place->job.retries_failed))
		note_worked(place, input, row);
	value_free(value_take(place->state, "running"));
	add_row(place, row);
	record_event(&event);
	if (failed && place->job.pauses_failed) {
		owned(fd_close) int fd = openat(place->dir_fd, JOB_PAUSED,
						O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			status = error_errno(err, ERROR_HOST, "job %s: pause", place->name);
	}
	/* What came of it is written down first: a promotion is not forgotten because a sandbox stays. */
	if (failed && place->job.keeps_failed)
		return job_save(place, err) < 0 ? -1 : status;
	value_set(place->state, "unswept", value_new_int(1));
	if (job_save(place, err) < 0 || sweep(place, err) < 0)
		return -1;
	value_free(value_take(place->state, "unswept"));
	return job_save(place, err) < 0 ? -1 : status;
}

int job_perform(struct job_place *place, const struct job_turn *turn, bool is_forced,
		struct value **ret_row, struct error *err)
{
	owned(value_release) struct value *row = value_new_map();
	struct job_input input = { .lines = STRV_INIT };
	struct error unknown;
	uint64_t began_ms = clock_epoch_ms();
	int status = 0;

	for (size_t i = 0; turn->slots && i < turn->slots->many.count; i++)
		value_set(value_get(place->state, "slots"), turn->slots->many.keys[i],
			  value_new_text(turn->slots->many.items[i]->text.bytes));
	input.is_known = job_inputs(place, &input.lines, &unknown) == 0;
	if (input.is_known)
		job_lines_digest(place, &input.lines, NULL, input.digest);
	else
		value_set(row, "note", value_new_text(unknown.text));
	if (!is_forced && input.is_known &&
	    str_same(value_get_text(place->state, "worked"), input.digest)) {
		value_set(row, "job", value_new_text(place->name));
		value_set(row, "result", value_new_text("unchanged"));
		status = job_save(place, err);
	} else if ((status = begin(place, turn, row, err)) == 0) {
		/* What an earlier run has kept for a look goes when the next one begins. */
		status = sweep(place, err);
		if (status == 0)
			work(place, row);
		count_spent(place, began_ms);
		status = status < 0 ? -1 : end(place, &input, row, err);
	}
	strv_done(&input.lines);
	if (status == 0)
		*ret_row = ptr_take(&row);
	return status;
}
