/* SPDX-License-Identifier: Apache-2.0 */
/* Whether gates hold: facts from the layers and the history, commands in throw-away forks. */
#include "app/trial/gates.h"

#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "app/trial/gate_scan.h"
#include "app/record/history.h"
#include "app/record/record.h"
#include "app/trial/trial.h"
#include "app/change/workspace_parts.h"
#include "decide/gate/gate.h"
#include "scan/scan.h"
#include "workspace/text/textdiff.h"

#include <stdio.h>
#include <string.h>

/* Larger files are counted as files, not as lines. */
#define LINES_FILE_MAX ((size_t)16 << 20)

struct gate_list {
	struct gate *items;
	size_t count;
};

static void gate_list_done(struct gate_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		gate_done(&list->items[i]);
	free(list->items);
}

static int read_gates(const struct strv *exprs, struct gate_list *ret_list, struct error *err)
{
	ret_list->items = xcalloc(exprs->count + 1, sizeof(*ret_list->items));
	for (size_t i = 0; i < exprs->count; i++) {
		if (gate_parse(exprs->items[i], &ret_list->items[i], err) < 0)
			return -1;
		ret_list->count++;
	}
	return 0;
}

static bool wants(const struct gate_list *list, enum gate_kind kind, int metric)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].kind == kind &&
		    (metric < 0 || list->items[i].metric == (enum gate_metric)metric))
			return true;
	}
	return false;
}

/* What cannot be decided here is refused before anything is run. */
static int check_possible(const struct gate_list *list, const struct app_gates *gates,
			  struct error *err)
{
	if (wants(list, GATE_SCAN, -1) && !scan_is_built())
		return error_advise(
			err, ERROR_DENIED, "leave the gate out or use a build with scanning",
			"scan==clean: this build has no scanner, so nothing can be called clean");
	if (wants(list, GATE_TESTS, -1) && (!gates->tests || gates->tests->count == 0))
		return error_advise(
			err, ERROR_USAGE,
			"name them in the profile (tests: [\"make test\"]) or write cmd:COMMAND",
			"tests==pass: no tests are named");
	return 0;
}

static int read_side(const struct view_stack *stack, const struct delta_side *side,
		     struct str *ret_text)
{
	owned(fd_close) int fd = -1;

	if (!side->exists)
		return 0;
	if (!S_ISREG(side->st.st_mode) || (size_t)side->st.st_size > LINES_FILE_MAX)
		return -1;
	fd = delta_open_side(stack, side);
	return fd < 0 ? -1 : fd_read_all(fd, LINES_FILE_MAX, ret_text);
}

static int64_t lines_of(const struct view_stack *stack, const struct delta_entry *entry)
{
	owned(str_done) struct str old_text = STR_INIT, new_text = STR_INIT;
	struct text old, new;
	size_t added = 0, removed = 0;

	if (read_side(stack, &entry->old, &old_text) < 0 ||
	    read_side(stack, &entry->new, &new_text) < 0 ||
	    text_is_binary(str_cstr(&old_text), old_text.len) ||
	    text_is_binary(str_cstr(&new_text), new_text.len))
		return 0;
	text_split(&old, str_cstr(&old_text), old_text.len);
	text_split(&new, str_cstr(&new_text), new_text.len);
	textdiff_stat(&old, &new, &added, &removed);
	text_done(&old);
	text_done(&new);
	return (int64_t)(added + removed);
}

static int measure_diff(const char *name, bool with_lines, struct gate_facts *facts,
			struct error *err)
{
	owned(free_ptr) char *sandbox = NULL, *snapshot = NULL;
	owned(opened_close) struct opened opened;
	struct view_stack stack;
	char why[DELTA_WHY_SIZE];
	struct delta delta;
	int status;

	opened_init(&opened);
	workspace_split_name(name, &sandbox, &snapshot);
	if (opened_open(&opened, sandbox, SANDBOX_SHARED, err) < 0 ||
	    app_view(&opened.sandbox, snapshot, &stack, err) < 0)
		return -1;
	const struct delta_options options = { .workspace = opened.sandbox.workspace,
					       .sandbox = &opened.sandbox,
					       .old_from = stack.count,
					       .renames = true,
					       .only_workspace = true };

	status = delta_read(&stack, &options, &delta, err);
	if (status == 0) {
		facts->metrics[METRIC_FILES] =
			(int64_t)(delta.added + delta.modified + delta.deleted);
		for (size_t i = 0; with_lines && i < delta.count; i++)
			facts->metrics[METRIC_LINES] += lines_of(&stack, &delta.items[i]);
		if (delta.is_partial)
			status =
				error_set(err, ERROR_DENIED, "%s: %s; no gate on its diff can hold",
					  name, delta_why_partial(&delta, options.workspace, why));
		delta_done(&delta);
	}
	view_close(&stack);
	return status;
}

static int measure_runs(const char *name, struct gate_facts *facts, struct error *err)
{
	owned(free_ptr) char *sandbox = NULL, *snapshot = NULL;
	owned(history_release) struct history *history = NULL;
	owned(opened_close) struct opened opened;
	struct history_last last;

	opened_init(&opened);
	workspace_split_name(name, &sandbox, &snapshot);
	if (opened_open(&opened, sandbox, SANDBOX_UNLOCKED, err) < 0 ||
	    app_history(&history, err) < 0 ||
	    history_last_run(history, sandbox, &last, &facts->has_run, err) < 0 ||
	    history_net_denials(history, sandbox, opened.sandbox.base_ns / 1000000,
				&facts->network_denials, err) < 0)
		return -1;
	if (facts->has_run) {
		facts->metrics[METRIC_EXIT] = last.exit_code;
		facts->metrics[METRIC_DURATION] = last.duration_ms;
		facts->metrics[METRIC_MEMORY] = last.peak_memory;
	}
	return 0;
}

static int measure(const struct gate_list *list, const char *name, struct gate_facts *facts,
		   struct error *err)
{
	bool with_lines = wants(list, GATE_METRIC, METRIC_LINES);

	if ((with_lines || wants(list, GATE_METRIC, METRIC_FILES)) &&
	    measure_diff(name, with_lines, facts, err) < 0)
		return -1;
	if (wants(list, GATE_METRIC, METRIC_EXIT) || wants(list, GATE_METRIC, METRIC_DURATION) ||
	    wants(list, GATE_METRIC, METRIC_MEMORY) || wants(list, GATE_NETWORK, -1))
		return measure_runs(name, facts, err);
	return 0;
}

/* sh -c TEXT in a fork of the sandbox that is gone afterwards. */
static int run_text(const struct app_gates *gates, const char *text, struct gate_verdict *verdict,
		    struct error *err)
{
	const struct app_run_options options = { .capture = true };
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	char any_name[ID_SHORT_SIZE];
	const char *fork_name = gates->fork_name ? gates->fork_name : any_name;

	run_result_init(&result);
	request_init(&request);
	strv_add_script(&request.command, text);
	request.environ = gates->environ;
	request.owner = gates->owner;
	request.owner_bytes = gates->owner_bytes;
	if (gates->time_ms)
		request.flags.time_ms = (int64_t)gates->time_ms;
	if (id_short("gate", any_name, err) < 0 ||
	    app_run_in_fork(gates->sandbox, fork_name, &request, &options, &result, err) < 0)
		return -1;
	verdict->holds = result.status == RUN_SUCCESS;
	free(verdict->evidence);
	verdict->evidence =
		xasprintf("%s, exit %d: see aisbx logs %s", run_status_name(result.status),
			  result.exit_code, result.run_id);
	return 0;
}

/* The first that fails is the evidence. */
static int run_tests(const struct app_gates *gates, struct gate_verdict *verdict, struct error *err)
{
	for (size_t i = 0; i < gates->tests->count; i++) {
		owned(free_ptr) char *why = NULL;

		if (run_text(gates, gates->tests->items[i], verdict, err) < 0)
			return -1;
		if (verdict->holds)
			continue;
		why = verdict->evidence;
		verdict->evidence = xasprintf("'%s': %s", gates->tests->items[i], why);
		return 0;
	}
	free(verdict->evidence);
	verdict->evidence = xasprintf("%zu test%s passed", gates->tests->count,
				      gates->tests->count == 1 ? "" : "s");
	return 0;
}

static int decide(const struct app_gates *gates, const struct gate *gate,
		  const struct gate_facts *facts, struct gate_verdict *ret_verdict,
		  struct error *err)
{
	*ret_verdict = (struct gate_verdict){ .holds = false };
	if (gate->kind == GATE_TESTS && gates->tests_known) {
		ret_verdict->holds = gates->tests_passed;
		ret_verdict->evidence = xstrdup(gates->tests_passed ? "all passed" : "one failed");
		return 0;
	}
	if (gate->kind == GATE_TESTS)
		return run_tests(gates, ret_verdict, err);
	if (gate->kind == GATE_SCAN)
		return gate_scan(gates->sandbox, ret_verdict, err);
	if (gate->kind == GATE_SECRETS)
		return gate_secrets(gates->sandbox, ret_verdict, err);
	if (gate->kind == GATE_COMMAND)
		return run_text(gates, gate_command(gate), ret_verdict, err);
	gate_decide(gate, facts, ret_verdict);
	return 0;
}

static int decide_all(const struct app_gates *gates, const struct gate_list *list,
		      const struct gate_facts *facts, struct value *rows, bool *ret_pass,
		      struct error *err)
{
	*ret_pass = true;
	for (size_t i = 0; i < list->count; i++) {
		struct gate_verdict verdict;
		struct value *row;

		if (decide(gates, &list->items[i], facts, &verdict, err) < 0) {
			free(verdict.evidence);
			return error_context(err, "%s", list->items[i].text);
		}
		row = value_append(rows, value_new_map());
		value_add(row, "expr", value_new_text(list->items[i].text));
		value_add(row, "holds", value_new_bool(verdict.holds));
		value_add(row, "evidence", value_new_text(verdict.evidence));
		*ret_pass = *ret_pass && verdict.holds;
		free(verdict.evidence);
	}
	return 0;
}

static void record(const struct app_gates *gates, const struct value *answer)
{
	owned(free_ptr) char *sandbox = xstrndup(gates->sandbox, strcspn(gates->sandbox, "@"));
	const struct record_event event = { .kind = "gate", .sandbox = sandbox, .body = answer };

	record_event(&event);
}

int app_gate_check(const struct app_gates *gates, struct value **ret_answer, bool *ret_pass,
		   struct error *err)
{
	owned(gate_list_done) struct gate_list list = { 0 };
	owned(value_release) struct value *answer = value_new_map();
	struct gate_facts facts = { 0 };
	struct value *rows;

	if (read_gates(gates->exprs, &list, err) < 0 || check_possible(&list, gates, err) < 0 ||
	    measure(&list, gates->sandbox, &facts, err) < 0)
		return -1;
	rows = value_new_list();
	value_add(answer, "verdict", value_new_null());
	value_add(answer, "gates", rows);
	if (decide_all(gates, &list, &facts, rows, ret_pass, err) < 0)
		return -1;
	value_set(answer, "verdict", value_new_text(*ret_pass ? "pass" : "fail"));
	record(gates, answer);
	*ret_answer = ptr_take(&answer);
	return 0;
}
