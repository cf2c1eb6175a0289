/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races run: a process per attempt, so many at a time, one loop that waits for their reports.
 *
 * An attempt that fails, hangs or is killed ends by itself and delays no other: its report is the end of a pipe,
 * whatever stood in it. Sandboxes are made here, one after the other, because forking one needs it alone.
 */
#include "app/trial/race.h"

#include "base/process/child.h"
#include "base/process/process.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "run/ending.h"
#include "app/trial/gates.h"
#include "app/trial/race_attempt.h"
#include "app/record/record.h"
#include "app/change/workspace.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A result is 256 KiB at most where it is recorded; two of them and a message fit. */
#define REPORT_MAX ((size_t)1 << 20)

enum racer_state { RACER_WAITING, RACER_RUNNING, RACER_ENDED };

struct racer {
	const struct race_attempt *attempt;
	struct attempt_names names;
	enum racer_state state;
	pid_t pid;
	int report_fd;
	struct str report;
	struct value *parsed; /* the report; NULL when there is none */
	char *error;	      /* why it could not be run; NULL otherwise */
	struct race_outcome outcome;
	bool has_sandbox;
	bool is_denied;	    /* the error is a refusal */
	bool has_bad_score; /* the check wrote one that is no number */
};

struct race_run {
	const struct app_race *race;
	char id[ID_SHORT_SIZE];
	struct racer *racers;
	size_t count, ended, running;
	int signal_fd;
	sigset_t saved_mask;
	bool is_stopped;     /* by --first, or by a signal */
	bool is_interrupted; /* by a signal */
	const char *busy;    /* the daemon refused it; else NULL */
	uint64_t signalled_ns;
};

static void race_run_done(struct race_run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		struct racer *racer = &run->racers[i];

		free(racer->names.sandbox);
		free(racer->names.check);
		str_done(&racer->report);
		value_free(racer->parsed);
		free(racer->error);
		fd_close(&racer->report_fd);
	}
	free(run->racers);
	fd_close(&run->signal_fd);
	(void)sigprocmask(SIG_SETMASK, &run->saved_mask, NULL);
}

static int prepare(struct race_run *run, struct error *err)
{
	const struct race_plan *plan = run->race->plan;

	run->signal_fd = process_watch_end(&run->saved_mask);
	if (run->signal_fd < 0)
		return error_errno(err, ERROR_HOST, "signalfd");
	if (id_short("r", run->id, err) < 0)
		return -1;
	run->racers = xcalloc(plan->count, sizeof(*run->racers));
	run->count = plan->count;
	for (size_t i = 0; i < plan->count; i++) {
		struct racer *racer = &run->racers[i];

		racer->attempt = &plan->attempts[i];
		racer->report_fd = -1;
		racer->names.sandbox = xasprintf("%s.%s", run->id, plan->attempts[i].name);
		racer->names.check = xasprintf("%s.%zu-check", run->id, i);
	}
	return 0;
}

/* Ends it before it began. */
static void give_up(struct race_run *run, struct racer *racer, const struct error *why)
{
	racer->error = xstrdup(why->text);
	racer->is_denied = why->code == ERROR_DENIED;
	racer->state = RACER_ENDED;
	run->ended++;
}

static void start(struct race_run *run, struct racer *racer)
{
	struct error err = { 0 };

	if (attempt_make(run->race, racer->attempt, &racer->names, &err) < 0) {
		give_up(run, racer, &err);
		return;
	}
	racer->has_sandbox = true;
	racer->pid = child_fork(CHILD_WRITES, SIGTERM, &racer->report_fd, &err);
	if (racer->pid == 0) {
		(void)setpgid(0, 0);
		(void)sigprocmask(SIG_SETMASK, &run->saved_mask, NULL);
		attempt_main(run->race, racer->attempt, &racer->names, racer->report_fd);
	}
	if (racer->pid < 0) {
		give_up(run, racer, &err);
		return;
	}
	racer->state = RACER_RUNNING;
	run->running++;
}

static bool has_passed(const struct value *parsed, const char *key)
{
	const struct value *result = parsed ? value_get(parsed, key) : NULL;
	const char *status = result ? value_get_text(result, "status") : NULL;

	return status && strcmp(status, "success") == 0;
}

static double number_of(const struct value *map, const char *key)
{
	const struct value *item = map ? value_get(map, key) : NULL;

	if (item && item->kind == VALUE_REAL)
		return item->real;
	return item && item->kind == VALUE_INT ? (double)item->integer : 0;
}

static void judge(const struct race_run *run, struct racer *racer)
{
	const struct value *result = racer->parsed ? value_get(racer->parsed, "run") : NULL;
	const struct value *changes = result ? value_get(result, "changes") : NULL;
	const struct value *score = racer->parsed ? value_get(racer->parsed, "score") : NULL;
	struct race_outcome *outcome = &racer->outcome;

	outcome->is_eligible = has_passed(racer->parsed, "run") &&
			       (!run->race->plan->check || has_passed(racer->parsed, "check"));
	racer->has_bad_score = racer->parsed && value_is_true(racer->parsed, "score_is_bad");
	/* What cannot be read ranks behind everything that can. */
	outcome->score = racer->has_bad_score ? -INFINITY
			 : score	      ? number_of(racer->parsed, "score")
					      : 1.0;
	outcome->files = (uint64_t)(number_of(changes, "added") + number_of(changes, "modified") +
				    number_of(changes, "deleted"));
	outcome->duration_ms = number_of(result, "duration_ms");
	outcome->peak_memory_bytes = (uint64_t)number_of(result, "peak_memory_bytes");
}

/* What is shown of an attempt as a whole: a failed check is no success. */
static const char *status_of(const struct race_run *run, const struct racer *racer)
{
	const struct value *result = racer->parsed ? value_get(racer->parsed, "run") : NULL;
	const char *status = result ? value_get_text(result, "status") : NULL;

	if (racer->error)
		return racer->is_denied ? "denied" : "internal";
	if (racer->state == RACER_WAITING || !status)
		return run->is_stopped ? "killed" : "internal";
	return status;
}

static void stop_all(struct race_run *run, bool at_once)
{
	run->is_stopped = true;
	for (size_t i = 0; i < run->count; i++) {
		if (run->racers[i].state == RACER_RUNNING)
			ending_send(run->racers[i].pid, at_once);
	}
}

static void finish(struct race_run *run, struct racer *racer)
{
	struct error ignored;

	fd_close(&racer->report_fd);
	bool has_exited = WIFEXITED(child_wait(racer->pid));

	racer->state = RACER_ENDED;
	run->running--;
	run->ended++;
	if (racer->report.len == 0 ||
	    json_read(racer->report.data, racer->report.len, NULL, &racer->parsed, &ignored) < 0)
		racer->parsed = NULL;
	if (racer->parsed && value_get_text(racer->parsed, "error"))
		racer->error = xstrdup(value_get_text(racer->parsed, "error"));
	racer->is_denied = racer->error && value_is_true(racer->parsed, "is_denied");
	if (racer->error && value_is_true(racer->parsed, "is_busy")) {
		run->busy = racer->error;
		stop_all(run, true);
	}
	/* One that was killed could not clean up after its check. */
	if (!has_exited)
		(void)app_remove(racer->names.check, &ignored);
	judge(run, racer);
	if (run->race->progress)
		run->race->progress(run->ended, run->count, racer->attempt->name,
				    racer->outcome.is_eligible ? "passed" : "failed",
				    run->race->cookie);
	if (run->race->first && racer->outcome.is_eligible && !run->is_stopped)
		stop_all(run, true);
}

static void read_report(struct race_run *run, struct racer *racer)
{
	char buffer[16384];
	ssize_t got = read(racer->report_fd, buffer, sizeof(buffer));

	if (got < 0 && errno == EINTR)
		return;
	if (got > 0 && racer->report.len + (size_t)got <= REPORT_MAX)
		str_add_bytes(&racer->report, buffer, (size_t)got);
	else if (got > 0)
		ending_send(racer->pid, true);
	else
		finish(run, racer);
}

static void start_waiting(struct race_run *run, unsigned jobs)
{
	for (size_t i = 0; i < run->count && run->running < jobs && !run->is_stopped; i++) {
		if (run->racers[i].state == RACER_WAITING)
			start(run, &run->racers[i]);
	}
}

static bool turn(struct race_run *run)
{
	owned(free_ptr) struct pollfd *polls = xcalloc(run->count + 1, sizeof(*polls));
	struct signalfd_siginfo info;

	polls[run->count] = (struct pollfd){ .fd = run->signal_fd, .events = POLLIN };
	for (size_t i = 0; i < run->count; i++)
		polls[i] = (struct pollfd){ .fd = run->racers[i].report_fd, .events = POLLIN };
	if (poll(polls, run->count + 1, -1) < 0)
		return errno == EINTR;
	for (size_t i = 0; i < run->count; i++) {
		if (polls[i].revents)
			read_report(run, &run->racers[i]);
	}
	if (polls[run->count].revents &&
	    read(run->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		run->is_interrupted = true;
		stop_all(run, ending_insists(&run->signalled_ns, clock_now_ns()));
	}
	return true;
}

static struct value *describe(const struct race_run *run, const struct racer *racer)
{
	const struct value *result = racer->parsed ? value_get(racer->parsed, "run") : NULL;
	const struct value *check = racer->parsed ? value_get(racer->parsed, "check") : NULL;
	struct value *row = value_new_map();
	struct value *changes = value_new_map();
	int64_t exit_code;

	value_add(row, "name", value_new_text(racer->attempt->name));
	value_add(row, "status", value_new_text(status_of(run, racer)));
	value_add(row, "exit_code",
		  result && value_get_int(result, "exit_code", &exit_code)
			  ? value_new_int(exit_code)
			  : value_new_null());
	if (check) {
		struct value *shown = value_add(row, "check", value_new_map());

		value_add(shown, "status", value_new_text(value_get_text(check, "status")));
		value_add(shown, "exit_code",
			  value_new_int((int64_t)number_of(check, "exit_code")));
		value_add(shown, "run_id", value_new_text(value_get_text(check, "run_id")));
		value_add(shown, "tail",
			  value_new_text(value_get_text(racer->parsed, "check_tail")));
	} else {
		value_add(row, "check", value_new_null());
	}
	value_add(row, "score",
		  racer->outcome.is_eligible && !racer->has_bad_score
			  ? value_new_real(racer->outcome.score)
			  : value_new_null());
	if (racer->has_bad_score)
		value_add(row, "score_error",
			  value_new_text("the check wrote something to descriptor 3 that is no "
					 "decimal number"));
	value_add(row, "duration_ms", value_new_real(racer->outcome.duration_ms));
	value_add(row, "peak_memory_bytes",
		  value_new_int((int64_t)racer->outcome.peak_memory_bytes));
	const struct value *counts = result ? value_get(result, "changes") : NULL;
	static const char *const keys[] = { "added", "modified", "deleted" };

	for (size_t i = 0; i < 3; i++)
		value_add(changes, keys[i], value_new_int((int64_t)number_of(counts, keys[i])));
	value_add(row, "changes", changes);
	value_add(row, "sandbox", value_new_text(racer->has_sandbox ? racer->names.sandbox : NULL));
	value_add(row, "run_id", value_new_text(result ? value_get_text(result, "run_id") : NULL));
	value_add(row, "error", value_new_text(racer->error));
	return row;
}

static size_t find_winner(const struct race_run *run)
{
	owned(free_ptr) struct race_outcome *outcomes = xcalloc(run->count, sizeof(*outcomes));

	for (size_t i = 0; i < run->count; i++)
		outcomes[i] = run->racers[i].outcome;
	return race_winner(&run->race->plan->rules, outcomes, run->count);
}

/* Those that only the order given puts behind the winner. */
static struct value *tied_with(const struct race_run *run, size_t winner)
{
	struct value *names = value_new_list();

	for (size_t i = winner + 1; i < run->count; i++) {
		if (race_is_tie(&run->race->plan->rules, &run->racers[winner].outcome,
				&run->racers[i].outcome))
			value_append(names, value_new_text(run->racers[i].attempt->name));
	}
	return names;
}

static struct value *answer_of(const struct race_run *run, size_t winner)
{
	struct value *answer = value_new_map();
	struct value *attempts = value_new_list();

	for (size_t i = 0; i < run->count; i++)
		value_append(attempts, describe(run, &run->racers[i]));
	value_add(answer, "race_id", value_new_text(run->id));
	value_add(answer, "winner",
		  value_new_text(winner < run->count ? run->racers[winner].attempt->name : NULL));
	value_add(answer, "tied", tied_with(run, winner));
	value_add(answer, "attempts", attempts);
	value_add(answer, "promotion_id", value_new_null());
	return answer;
}

/* What came of the promotion stands in the answer, also when it was refused. */
static int promote(const struct race_run *run, size_t winner, struct value *answer,
		   struct error *err)
{
	const struct app_promote wish = { .sandbox = run->racers[winner].names.sandbox,
					  .strategy = run->race->promote,
					  .ignored = run->race->ignored,
					  .commits = run->race->commits };
	struct value *promotion = NULL;
	int status;

	if (wish.commits && app_commits_check(wish.sandbox, run->race->request->environ, err) < 0)
		return -1;
	status = app_promote(&wish, &promotion, err);
	if (!promotion)
		return status;
	value_set(answer, "promotion_id",
		  value_new_text(value_get_text(promotion, "promotion_id")));
	value_add(answer, "promotion", promotion);
	return status;
}

static void remove_all(struct race_run *run)
{
	struct error ignored;

	for (size_t i = 0; i < run->count; i++) {
		if (run->racers[i].has_sandbox)
			(void)app_remove(run->racers[i].names.sandbox, &ignored);
	}
}

static void record(const struct race_run *run, const struct value *answer)
{
	const struct record_event event = { .kind = "race", .id = run->id, .body = answer };

	record_event(&event);
}

int app_race(const struct app_race *race, struct value **ret_answer, struct error *err)
{
	owned(race_run_done) struct race_run run = { .race = race, .signal_fd = -1 };
	unsigned jobs = race->jobs ? race->jobs : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	size_t winner;
	int status = 0;

	(void)sigprocmask(SIG_SETMASK, NULL, &run.saved_mask);
	if (prepare(&run, err) < 0)
		return -1;
	do {
		start_waiting(&run, jobs);
	} while (run.running > 0 && turn(&run));
	if (run.is_interrupted) {
		remove_all(&run);
		errno = EINTR;
		return error_errno(err, ERROR_HOST,
				   "the race was stopped; its sandboxes are removed");
	}
	if (run.busy) {
		remove_all(&run);
		return error_set(err, ERROR_BUSY, "%s", run.busy);
	}
	winner = find_winner(&run);
	*ret_answer = answer_of(&run, winner);
	if (race->promote && winner < run.count)
		status = promote(&run, winner, *ret_answer, err);
	record(&run, *ret_answer);
	return status;
}
