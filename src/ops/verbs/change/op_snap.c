/* SPDX-License-Identifier: Apache-2.0 */
/* `snap`: the present of a sandbox under a name, to come back to. */
#include "app/change/workspace.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

int op_quiet(const struct op_call *call, enum quiesce_mode *ret_how, struct error *err)
{
	bool freeze = op_arg_switch(call, "freeze"), kill = op_arg_switch(call, "kill");

	if (freeze && kill)
		return error_set(err, ERROR_USAGE, "--freeze and --kill contradict");
	*ret_how = freeze ? QUIET_FREEZE : kill ? QUIET_KILL : QUIET_REFUSE;
	return 0;
}

int op_snap_run(struct op_call *call, struct error *err)
{
	struct app_snap snap = {
		.message = op_arg_text(call, "message"),
		.name = op_arg_text(call, "name"),
		.durable = op_arg_switch(call, "durable"),
	};
	const char *name;

	if (op_want_words(call, 1, 1, err) < 0 || op_quiet(call, &snap.how, err) < 0)
		return -1;
	snap.sandbox = call->words.items[0];
	if (app_snap(&snap, &call->answer, err) < 0)
		return -1;
	name = value_get_text(call->answer, "name");
	str_addf(&call->text, "saved %s as %s; come back with: aisbx rollback %s %s\n",
		 snap.sandbox, name, snap.sandbox, name);
	return 0;
}
