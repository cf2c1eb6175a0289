/* SPDX-License-Identifier: Apache-2.0 */
/* `gate check`: do these conditions hold for a sandbox. */
#include "base/core/own.h"
#include "app/trial/gates.h"
#include "ops/rows/rows.h"

#include <string.h>

int op_gate_run(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv exprs = STRV_INIT, tests = STRV_INIT, given = STRV_INIT;
	struct app_gates gates = { .exprs = &exprs, .tests = &tests, .environ = call->environ };
	bool pass;

	if (call->words.count < 2 || strcmp(call->words.items[0], "check") != 0)
		return error_set(err, ERROR_USAGE, "write aisbx gate check NAME EXPR...");
	gates.sandbox = call->words.items[1];
	if (call->ceiling) {
		gates.owner = call->ceiling->owner;
		gates.owner_bytes = call->ceiling->owner_bytes;
	}
	for (size_t i = 2; i < call->words.count; i++)
		strv_add(&given, call->words.items[i]);
	if (app_gates_check_words(&given, err) < 0 ||
	    app_gates_of(gates.sandbox, &exprs, &tests, err) < 0)
		return -1;
	strv_copy(&exprs, &given);
	if (exprs.count == 0)
		return error_set(err, ERROR_USAGE,
				 "no condition: name some, or put gates: into the profile");
	if (app_gate_check(&gates, &call->answer, &pass, err) < 0)
		return -1;
	op_report_gates(&call->text, call->answer);
	call->exit_status = pass ? 0 : 1;
	return 0;
}
