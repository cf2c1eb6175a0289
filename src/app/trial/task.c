/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: read, run, tested, judged. */
#include "app/trial/task.h"

#include "base/core/id.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "app/trial/gates.h"
#include "app/trial/intent.h"
#include "app/record/record.h"
#include "app/prepare/plan_context.h"
#include "app/trial/trial.h"
#include "spec/settings_value.h"

#include <string.h>

#define KEPT_MS (UINT64_C(24) * 3600 * 1000)

void task_init(struct task *task)
{
	memset(task, 0, sizeof(*task));
	request_init(&task->request);
}

void task_done(struct task *task)
{
	free(task->intent);
	request_done(&task->request);
	strv_done(&task->tests);
	strv_done(&task->gates);
}

static const char *const task_keys[] = { "intent", "command", "script",	  "profile", "workspace",
					 "tests",  "gates",   "trace_id", "env",     NULL };

static int take_command(const struct value_reader *reader, const struct value *item,
			const char *key, struct strv *command)
{
	owned(free_ptr) char *script = NULL;

	if (command->count > 0)
		return value_reader_refuse(reader, item,
					   "a task has a script or a command, not both");
	if (strcmp(key, "command") == 0 && item->kind != VALUE_TEXT)
		return value_reader_words(reader, item, key, command);
	if (value_reader_text(reader, item, key, &script) < 0)
		return -1;
	strv_add_script(command, script);
	return 0;
}

static int take_key(const struct value_reader *reader, const struct value *item, const char *key,
		    struct task *task)
{
	struct request *request = &task->request;

	if (strcmp(key, "intent") == 0)
		return value_reader_text(reader, item, key, &task->intent);
	if (strcmp(key, "command") == 0 || strcmp(key, "script") == 0)
		return take_command(reader, item, key, &request->command);
	if (strcmp(key, "profile") == 0)
		return value_reader_text(reader, item, key, &request->profile);
	if (strcmp(key, "workspace") == 0)
		return value_reader_text(reader, item, key, &request->workspace);
	if (strcmp(key, "trace_id") == 0)
		return value_reader_text(reader, item, key, &request->trace_id);
	if (strcmp(key, "tests") == 0)
		return value_reader_words(reader, item, key, &task->tests);
	if (strcmp(key, "gates") == 0)
		return value_reader_words(reader, item, key, &task->gates);
	return settings_read_file(reader, item, key, task_keys, &request->flags);
}

int task_read(const struct value *tree, const char *origin, struct task *task, struct error *err)
{
	const struct value_reader reader = { origin, err };

	if (tree->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "a task is one JSON object");
	for (size_t i = 0; i < tree->many.count; i++) {
		if (take_key(&reader, tree->many.items[i], tree->many.keys[i], task) < 0)
			return -1;
	}
	return 0;
}

static int read_given(const struct app_task *given, struct task *task, struct error *err)
{
	owned(value_release) struct value *tree = NULL;

	task_init(task);
	task->request.environ = given->environ;
	task->request.owner = given->owner;
	task->request.owner_bytes = given->owner_bytes;
	task->request.only_narrows = given->only_narrows;
	if (given->tree)
		return task_read(given->tree, given->origin, task, err);
	if (json_read(given->text, given->len, NULL, &tree, err) < 0 ||
	    task_read(tree, NULL, task, err) < 0)
		return error_context(err, "%s", given->origin);
	return 0;
}

static int hold_to_ceiling(const struct app_task *given, struct task *task, struct error *err)
{
	struct request *request = &task->request;
	char shown[STR_SHOWN_SIZE];

	if (given->profiles && request->workspace)
		return error_set(err, ERROR_DENIED,
				 "'workspace' is chosen where the server starts");
	if (given->workspace && !request->workspace)
		request->workspace = xstrdup(given->workspace);
	if (!given->profiles)
		return 0;
	if (request->profile && !strv_has(given->profiles, request->profile))
		return error_set(err, ERROR_DENIED,
				 "profile '%s': this server was not started with it",
				 str_shown(request->profile, shown));
	if (!request->profile && given->profiles->count > 0)
		request->profile = xstrdup(given->profiles->items[0]);
	return 0;
}

/* Without a command, what the project itself says. */
static int complete_task(struct task *task, struct error *err)
{
	owned(plan_context_done) struct plan_context around = { 0 };

	if (task->request.command.count > 0)
		return 0;
	if (!task->intent)
		return error_set(err, ERROR_INPUT, "neither command nor script nor intent");
	if (plan_context_read(&task->request, &around, err) < 0)
		return -1;
	return intent_find(task->intent,
			   around.paths.workspace ? around.paths.workspace : around.host.cwd,
			   &task->request.command, err);
}

/* The record of a run as a value. */
static struct value *result_value(const struct run_result *result)
{
	owned(str_done) struct str text = STR_INIT;
	struct value *value = NULL;
	struct error ignored;

	run_result_write(result, &text);
	if (json_read(str_cstr(&text), text.len, &(struct json_limits){ .nul = true }, &value,
		      &ignored) < 0)
		return value_new_null();
	return value;
}

static int run_tests(const struct task *task, const char *sandbox, struct value *rows,
		     bool *ret_pass, struct error *err)
{
	const struct app_run_options options = { .capture = true };

	for (size_t i = 0; i < task->tests.count; i++) {
		owned(run_result_done) struct run_result result;
		owned(request_done) struct request request;
		struct value *row;

		run_result_init(&result);
		request_init(&request);
		strv_add_script(&request.command, task->tests.items[i]);
		request.environ = task->request.environ;
		request.owner = task->request.owner;
		request.owner_bytes = task->request.owner_bytes;
		request.trace_id = task->request.trace_id ? xstrdup(task->request.trace_id) : NULL;
		if (app_run_in(sandbox, &request, &options, &result, err) < 0)
			return -1;
		row = value_append(rows, value_new_map());
		value_add(row, "command", value_new_text(task->tests.items[i]));
		value_add(row, "status", value_new_text(run_status_name(result.status)));
		value_add(row, "exit_code", value_new_int(result.exit_code));
		value_add(row, "run_id", value_new_text(result.run_id));
		*ret_pass = *ret_pass && result.status == RUN_SUCCESS;
	}
	return 0;
}

/* The task's and its profile's. TESTS_PASSED: what the tests came to, where that is known by now. */
static int check_gates(const struct task *task, const char *sandbox, const bool *tests_passed,
		       struct value **ret_gates, bool *ret_pass, struct error *err)
{
	owned(strv_done) struct strv exprs = STRV_INIT, tests = STRV_INIT;
	owned(value_release) struct value *checked = NULL;
	struct app_gates gates = { .sandbox = sandbox,
				   .exprs = &exprs,
				   .tests = &tests,
				   .environ = task->request.environ,
				   .owner = task->request.owner,
				   .owner_bytes = task->request.owner_bytes };

	if (app_gates_of(sandbox, &exprs, &tests, err) < 0)
		return -1;
	for (size_t i = 0; i < task->gates.count; i++)
		strv_add(&exprs, task->gates.items[i]);
	if (task->tests.count > 0) {
		gates.tests = &task->tests;
		gates.tests_known = tests_passed;
		gates.tests_passed = tests_passed && *tests_passed;
	}
	if (exprs.count > 0 && app_gate_check(&gates, &checked, ret_pass, err) < 0)
		return -1;
	*ret_gates = exprs.count > 0 ? value_take(checked, "gates") : value_new_list();
	return 0;
}

int app_task_gates(const struct app_task *given, const char *sandbox, struct value **ret_answer,
		   bool *ret_pass, struct error *err)
{
	owned(task_done) struct task task;
	bool holds = true;

	if (read_given(given, &task, err) < 0 ||
	    check_gates(&task, sandbox, NULL, ret_answer, &holds, err) < 0)
		return -1;
	*ret_pass = holds && task.gates.count > 0;
	return 0;
}

static int perform(struct task *task, const char *sandbox, struct value *answer, bool *ret_pass,
		   struct error *err)
{
	const struct app_run_options options = { .capture = true };
	owned(run_result_done) struct run_result result;
	bool tests_pass = true, gates_pass = true;
	struct value *tests = value_new_list(), *gates = NULL;

	run_result_init(&result);
	if (app_run_kept(&task->request, sandbox, KEPT_MS, &options, &result, err) < 0) {
		value_free(tests);
		return -1;
	}
	value_add(answer, "run", result_value(&result));
	value_add(answer, "tests", tests);
	if (run_tests(task, sandbox, tests, &tests_pass, err) < 0 ||
	    check_gates(task, sandbox, &tests_pass, &gates, &gates_pass, err) < 0)
		return -1;
	value_add(answer, "gates", gates);
	*ret_pass = result.status == RUN_SUCCESS && tests_pass && gates_pass;
	return 0;
}

int app_task(const struct app_task *given, struct value **ret_answer, bool *ret_pass,
	     struct error *err)
{
	owned(value_release) struct value *answer = value_new_map();
	owned(task_done) struct task task;
	char id[ID_RUN_SIZE], sandbox[ID_SHORT_SIZE];

	if (read_given(given, &task, err) < 0)
		return -1;
	if (hold_to_ceiling(given, &task, err) < 0)
		return -1;
	if (complete_task(&task, err) < 0 || id_run(id, err) < 0 || id_short("t", sandbox, err) < 0)
		return -1;
	value_add(answer, "task_id", value_new_text(id));
	value_add(answer, "sandbox", value_new_text(sandbox));
	value_add(answer, "verdict", value_new_null());
	if (perform(&task, sandbox, answer, ret_pass, err) < 0)
		return -1;
	value_set(answer, "verdict", value_new_text(*ret_pass ? "pass" : "fail"));
	const struct record_event event = {
		.kind = "task", .sandbox = sandbox, .id = id, .body = NULL
	};

	record_event(&event);
	*ret_answer = ptr_take(&answer);
	return 0;
}
