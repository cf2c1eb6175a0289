/* SPDX-License-Identifier: Apache-2.0 */
/* `race`: attempts in parallel sandboxes, compared; and how two of them differ. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "app/record/history.h"
#include "app/trial/race.h"
#include "app/vet/rego_evaluator.h"
#include "ops/promotion.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define RACE_FILE_MAX ((size_t)1 << 20)
#define JOBS_MAX 1000
#define LISTED_MAX 50

static int read_file(const char *path, struct race_plan *plan, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (file_read(AT_FDCWD, path, RACE_FILE_MAX, &text, err) < 0)
		return -1;
	return race_read(str_cstr(&text), text.len, path, plan, err);
}

static int read_plan(const struct op_call *call, struct race_plan *plan, struct error *err)
{
	const struct strv *attempts = op_arg_list(call, "attempt");
	const char *file = op_arg_text(call, "file"), *prefer = op_arg_text(call, "prefer");
	const char *check = op_arg_text(call, "check"), *base = op_arg_text(call, "base");

	if (file && read_file(file, plan, err) < 0)
		return -1;
	for (size_t i = 0; attempts && i < attempts->count; i++) {
		if (race_add_words(plan, attempts->items[i], err) < 0)
			return -1;
	}
	if (plan->count == 0)
		return error_set(
			err, ERROR_USAGE,
			"nothing to race: name attempts with -c NAME=COMMAND, or a file with "
			"-f FILE");
	if (prefer && race_rules_parse(prefer, &plan->rules, err) < 0)
		return -1;
	if (check) {
		free(plan->check);
		plan->check = xstrdup(check);
	}
	if (base) {
		free(plan->base);
		plan->base = xstrdup(base);
	}
	return 0;
}

static void show_progress(size_t ended, size_t count, const char *name, const char *status,
			  void *cookie)
{
	struct op_call *call = cookie;
	char line[160];

	(void)snprintf(line, sizeof(line), "%zu of %zu attempts done; %s %s", ended, count, name,
		       status);
	call->progress(line);
}

static void add_row(struct strv *cells, const struct value *attempt, const char *winner)
{
	const struct value *check = value_get(attempt, "check");
	const struct value *score = value_get(attempt, "score");
	const char *name = value_get_text(attempt, "name");
	owned(str_done) struct str size = STR_INIT, changes = STR_INIT;
	int64_t bytes = 0;

	(void)value_get_int(attempt, "peak_memory_bytes", &bytes);
	words_add_size(&size, bytes);
	op_add_changes(&changes, attempt);
	strv_addf(cells, "%s%s", winner && strcmp(winner, name) == 0 ? "* " : "  ", name);
	strv_add(cells, value_get_text(attempt, "status"));
	strv_add(cells, check->kind == VALUE_MAP ? value_get_text(check, "status") : "-");
	if (score->kind == VALUE_REAL)
		strv_addf(cells, "%g", score->real);
	else
		strv_add(cells, "-");
	strv_addf(cells, "%.0f ms", value_get(attempt, "duration_ms")->real);
	strv_add(cells, str_cstr(&size));
	strv_add(cells, str_cstr(&changes));
}

/* Why a check failed stands in what it wrote last. */
static void show_failed_check(struct op_call *call, const struct value *attempt)
{
	const struct value *check = value_get(attempt, "check");
	const char *tail = check->kind == VALUE_MAP ? value_get_text(check, "tail") : NULL;
	bool is_more = tail != NULL;

	if (check->kind != VALUE_MAP || strcmp(value_get_text(check, "status"), "success") == 0)
		return;
	str_addf(&call->text, "\n%s: its check failed (exit %lld)%s\n",
		 value_get_text(attempt, "name"), (long long)value_int_of(check, "exit_code"),
		 tail ? ":" : " and wrote nothing");
	while (tail && *tail) {
		size_t len = strcspn(tail, "\n");

		str_addf(&call->text, "  %.*s\n", (int)len, tail);
		tail += len;
		tail += *tail == '\n';
	}
	if (is_more)
		str_addf(&call->text, "  all of it: aisbx logs %s\n",
			 value_get_text(check, "run_id"));
	str_add_char(&call->text, '\n');
}

static void write_table(struct op_call *call)
{
	static const char *const titles[] = { "  ATTEMPT", "COMMAND", "CHECK",	"SCORE",
					      "TOOK",	   "MEMORY",  "CHANGES" };
	const size_t columns = sizeof(titles) / sizeof(titles[0]);
	const struct value *attempts = value_get(call->answer, "attempts");
	const char *winner = value_get_text(call->answer, "winner");
	owned(strv_done) struct strv cells = STRV_INIT;

	for (size_t i = 0; i < columns; i++)
		strv_add(&cells, titles[i]);
	for (size_t i = 0; i < attempts->many.count; i++)
		add_row(&cells, attempts->many.items[i], winner);
	words_add_table(&call->text, &cells, columns);
	for (size_t i = 0; i < attempts->many.count; i++) {
		const char *error = value_get_text(attempts->many.items[i], "error");

		if (error)
			str_addf(&call->notes, "%s: %s\n",
				 value_get_text(attempts->many.items[i], "name"), error);
		show_failed_check(call, attempts->many.items[i]);
	}
}

static void write_ties(struct str *out, const struct value *tied)
{
	for (size_t i = 0; i < tied->many.count; i++)
		str_addf(out, "%s%s", i ? ", " : "", tied->many.items[i]->text.bytes);
	if (tied->many.count > 0)
		str_addf(out,
			 " %s as good; the first one given wins (--prefer score,small,fast says "
			 "what counts)\n",
			 tied->many.count == 1 ? "is" : "are");
}

static void write_outcome(struct op_call *call)
{
	const char *winner = value_get_text(call->answer, "winner");
	const char *race_id = value_get_text(call->answer, "race_id");
	const char *promotion_id = value_get_text(call->answer, "promotion_id");

	if (!winner) {
		str_addf(&call->text, "no attempt passed; look into one with: aisbx diff %s.NAME\n",
			 race_id);
		return;
	}
	write_ties(&call->text, value_get(call->answer, "tied"));
	str_addf(&call->text, "%s wins", winner);
	if (promotion_id)
		str_addf(&call->text, " and is promoted; take it back with: aisbx undo %s\n",
			 promotion_id);
	else
		str_addf(&call->text, "; apply it with: aisbx promote %s.%s\n", race_id, winner);
	promotion_report_ignored(&call->text, value_get(call->answer, "promotion"));
}

static int show_diff(struct op_call *call, struct error *err)
{
	bool differs;

	if (call->words.count != 4)
		return error_set(err, ERROR_USAGE, "write aisbx race diff RACE A B");
	if (app_race_diff(call->words.items[1], call->words.items[2], call->words.items[3],
			  &call->text, &differs, err) < 0)
		return -1;
	call->is_patch = true;
	if (!differs)
		str_add(&call->text, "both changed the same\n");
	return 0;
}

/* The last ones, of all workspaces of this user. */
static int list_races(struct op_call *call, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(strv_done) struct strv cells = STRV_INIT;

	if (op_want_words(call, 1, 1, err) < 0 || app_history(&history, err) < 0 ||
	    history_races(history, LISTED_MAX, &call->answer, err) < 0)
		return -1;
	strv_add(&cells, "RACE");
	strv_add(&cells, "ENDED");
	strv_add(&cells, "ATTEMPTS");
	strv_add(&cells, "WINNER");
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *race = call->answer->many.items[i];
		const struct value *attempts = value_get(race, "attempts");
		const char *winner = value_get_text(race, "winner");

		strv_add(&cells, value_get_text(race, "race_id"));
		strv_add(&cells, value_get_text(race, "time"));
		strv_addf(&cells, "%zu",
			  attempts && attempts->kind == VALUE_LIST ? attempts->many.count : 0);
		strv_add(&cells, winner ? winner : "-");
	}
	if (!call->json)
		words_add_table(&call->text, &cells, 4);
	return 0;
}

static int read_jobs(const struct op_call *call, unsigned *ret_jobs, struct error *err)
{
	const char *text = op_arg_text(call, "jobs");
	int64_t jobs = 0;

	if (text && units_count("--jobs", text, 1, JOBS_MAX, &jobs, err) < 0)
		return -1;
	*ret_jobs = (unsigned)jobs;
	return 0;
}

/* STATUS and ERR are of the race whose answer CALL has. */
static void show_race(struct op_call *call, int status, const struct error *err)
{
	const char *winner = value_get_text(call->answer, "winner");

	if (!call->json) {
		write_table(call);
		write_outcome(call);
	}
	/* The race itself is an answer; that its winner was refused stands beside it. */
	if (status < 0) {
		str_addf(&call->notes, "%s is not promoted: %s\n", winner, err->text);
		call->exit_status = error_exit_status(err->code);
	} else {
		call->exit_status = winner ? 0 : 1;
	}
}

int op_race_run(struct op_call *call, struct error *err)
{
	owned(policy_keeper_close) struct policy_keeper keeper = { 0 };
	owned(request_done) struct request request;
	owned(race_plan_done) struct race_plan plan;
	const char *strategy = op_arg_text(call, "strategy");
	struct app_race race = { .plan = &plan,
				 .uses_daemon = !op_arg_switch(call, "no-daemon"),
				 .request = &request,
				 .first = op_arg_switch(call, "first"),
				 .ignored = op_arg_switch(call, "ignored"),
				 .commits = op_arg_switch(call, "commits"),
				 .progress = call->progress ? show_progress : NULL,
				 .cookie = call };
	int status;

	request_init(&request);
	race_plan_init(&plan);
	if (call->words.count > 0 && strcmp(call->words.items[0], "diff") == 0)
		return show_diff(call, err);
	if (call->words.count > 0 && strcmp(call->words.items[0], "ls") == 0)
		return list_races(call, err);
	if (call->words.count > 0)
		return error_set(err, ERROR_USAGE, "race: '%s'? Attempts are -c NAME=COMMAND",
				 call->words.items[0]);
	if (race.commits && strategy)
		return error_set(err, ERROR_USAGE, "--commits takes no --strategy");
	if (op_arg_switch(call, "promote"))
		race.promote = strategy ? strategy : "fail";
	if (read_plan(call, &plan, err) < 0 || read_jobs(call, &race.jobs, err) < 0 ||
	    op_request(call, &request, err) < 0)
		return -1;
	/* Such an attempt is a fork, and has the rules of what it was forked from. */
	if (request.settings_file && plan.base && !strchr(plan.base, '/')) {
		error_set(err, ERROR_USAGE,
			  "--settings is for attempts that start from a directory");
		return error_add_hint(err, "those of the sandbox '%s' have its rules", plan.base);
	}
	/* Each attempt asks more than once, all of them the same policies. */
	if (!request.policy_fd) {
		policy_keeper_look(&keeper);
		request.policy_fd = keeper.ask_fd;
	}
	status = app_race(&race, &call->answer, err);
	if (call->progress)
		call->progress(NULL);
	if (!call->answer)
		return -1;
	show_race(call, status, err);
	return 0;
}
