/* SPDX-License-Identifier: Apache-2.0 */
/* `shell`: the caller's shell in a named sandbox, on a terminal of its own. */
#include "base/core/own.h"
#include "app/sandbox/sandbox.h"
#include "ops/rows/rows.h"

#include <string.h>
#include <unistd.h>

/* What the caller uses outside, where it can be started; tool chains of HOME may not be shown inside. */
static const char *shell_of(const char *const *env)
{
	for (; env && *env; env++) {
		if (str_starts(*env, "SHELL=/usr/") || str_starts(*env, "SHELL=/bin/"))
			return access(*env + strlen("SHELL="), X_OK) == 0 ? *env + strlen("SHELL=")
									  : "/bin/sh";
	}
	return "/bin/sh";
}

int op_shell_run(struct op_call *call, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	struct app_run_options options = { .capture = false };
	int outcome;

	run_result_init(&result);
	request_init(&request);
	if (op_want_words(call, 1, 1, err) < 0)
		return -1;
	if (call->json)
		return error_set(err, ERROR_USAGE, "a shell is for people: use exec --json");
	strv_add(&call->command, shell_of(call->environ));
	if (op_request(call, &request, err) < 0)
		return -1;
	outcome = app_exec(call->words.items[0], &request, &options, &result, err);
	return op_result(call, &result, outcome, err);
}
