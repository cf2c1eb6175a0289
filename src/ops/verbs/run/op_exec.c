/* SPDX-License-Identifier: Apache-2.0 */
/* `exec`: a command in a named sandbox, with the result and exit codes of run. */
#include "base/core/own.h"
#include "app/sandbox/background.h"
#include "app/sandbox/sandbox.h"
#include "ops/rows/rows.h"
#include "ops/verbs/run/op_write.h"

#include <string.h>

/* Flags of exec that are settings too: what may differ from one command to the next. */
static const char *const narrowing[] = { "time", "cpu-time", "grace",	   "output",
					 "env",	 "secret",   "secret-env", "scan" };

static int take_settings(struct op_call *call, struct error *err)
{
	for (size_t i = 0; i < sizeof(narrowing) / sizeof(narrowing[0]); i++) {
		const struct strv *values = op_arg_list(call, narrowing[i]);
		owned(free_ptr) char *where = xasprintf("--%s", narrowing[i]);

		for (size_t v = 0; values && v < values->count; v++) {
			if (settings_set(&call->settings, setting_find(narrowing[i]), where,
					 values->items[v], err) < 0)
				return -1;
		}
	}
	return 0;
}

static int check_words(const struct op_call *call, struct error *err)
{
	if (call->words.count == 0)
		return error_advise(err, ERROR_USAGE, "aisbx ls lists them",
				    "which sandbox? aisbx exec NAME -- CMD");
	if (call->command.count == 0)
		return error_set(err, ERROR_USAGE,
				 "no command: aisbx exec %s -- CMD, or aisbx shell %s",
				 call->words.items[0], call->words.items[0]);
	return 0;
}

static int start(struct op_call *call, const struct request *request, bool uses_daemon,
		 struct error *err)
{
	const char *name = call->words.items[0];
	struct app_started started;

	if (app_exec_start(name, request, uses_daemon, &started, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "exec_id", value_new_text(started.exec_id));
	value_add(call->answer, "sandbox", value_new_text(name));
	value_add(call->answer, "started", value_new_text(started.started));
	str_addf(&call->text, "%s\n", started.exec_id);
	str_addf(&call->notes, "runs in the background of %s; look at it with: aisbx poll %s\n",
		 name, started.exec_id);
	return 0;
}

static int exec_and_write(struct op_call *call, const struct request *request,
			  const struct app_run_options *options, struct run_result *result,
			  struct error *err)
{
	const char *name = call->words.items[0];
	struct write_watch watch;
	bool waits;
	int outcome;

	if (write_watch_start(name, &watch, err) < 0)
		return -1;
	outcome = app_exec(name, request, options, result, err);
	write_watch_stop(&watch);
	if (op_result(call, result, outcome, err) < 0)
		return -1;
	return op_write(call, name, &watch, &waits, err);
}

int op_exec_run(struct op_call *call, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	struct app_run_options options = { .capture = call->json,
					   .uses_daemon = !op_arg_switch(call, "no-daemon"),
					   .denied = call->note ? op_denied : NULL,
					   .denied_cookie = call,
					   .ret_is_unused = &call->is_unused };
	bool writes;

	run_result_init(&result);
	request_init(&request);
	if (check_words(call, err) < 0 || op_write_wanted(call, &writes, err) < 0 ||
	    take_settings(call, err) < 0 || op_request(call, &request, err) < 0)
		return -1;
	if (op_arg_switch(call, "detach") && writes) {
		error_set(err, ERROR_USAGE, "--write is for commands that are waited for");
		return error_add_hint(err, "promote %s later", call->words.items[0]);
	}
	if (op_arg_switch(call, "detach"))
		return start(call, &request, options.uses_daemon, err);
	if (writes)
		return exec_and_write(call, &request, &options, &result, err);
	return op_result(call, &result,
			 app_exec(call->words.items[0], &request, &options, &result, err), err);
}
