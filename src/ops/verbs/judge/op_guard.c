/* SPDX-License-Identifier: Apache-2.0 */
/* `guard`: decides how a command should be run, and with --run does so where no person is needed. */
#include "base/core/own.h"
#include "app/vet/guard.h"
#include "ops/rows/rows.h"

static const int exit_codes[] = {
	[GUARD_DIRECT] = 0,
	[GUARD_SANDBOX] = 1,
	[GUARD_ASK] = 4,
	[GUARD_DENY] = 4,
};

static void answer(struct op_call *call, const struct guard_verdict *verdict)
{
	const char *decision = guard_decision_name(verdict->decision);
	const char *risk = guard_risk_name(verdict->risk);

	call->answer = value_new_map();
	value_add(call->answer, "decision", value_new_text(decision));
	value_add(call->answer, "risk", value_new_text(risk));
	value_add(call->answer, "reasons", value_from_strv(&verdict->reasons));
	str_addf(&call->text, "%s (risk %s)\n", decision, risk);
	for (size_t i = 0; i < verdict->reasons.count; i++)
		str_addf(&call->text, "  %s\n", verdict->reasons.items[i]);
}

static int run_in_sandbox(struct op_call *call, const struct request *request, struct error *err)
{
	owned(run_result_done) struct run_result result;
	struct app_run_options options = { .capture = call->json,
					   .denied = call->note ? op_denied : NULL,
					   .denied_cookie = call };
	int outcome;

	run_result_init(&result);
	outcome = app_run(request, &options, &result, err);
	if (outcome < 0 && err->code == ERROR_LIBRARIES)
		return -1;
	return op_result(call, &result, outcome, err);
}

int op_guard_run(struct op_call *call, struct error *err)
{
	owned(guard_verdict_done) struct guard_verdict verdict = { 0 };
	owned(request_done) struct request request;
	bool acts = op_arg_switch(call, "run");

	request_init(&request);
	if (acts && call->json)
		return error_advise(
			err, ERROR_USAGE, "decide with --json, then run",
			"--run and --json: the command's output would mix with the answer");
	if (call->command.count == 0 || !call->command.items[0][0])
		return error_set(err, ERROR_USAGE,
				 "nothing to decide about: write aisbx guard -- CMD");
	if (op_request(call, &request, err) < 0 || app_guard(&request, &verdict, err) < 0)
		return -1;
	if (acts && verdict.decision == GUARD_DIRECT)
		return app_run_directly(&request.command, &call->exit_status, err);
	if (acts && verdict.decision == GUARD_SANDBOX)
		return run_in_sandbox(call, &request, err);
	answer(call, &verdict);
	call->exit_status = exit_codes[verdict.decision];
	return 0;
}
