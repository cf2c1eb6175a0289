/* SPDX-License-Identifier: Apache-2.0 */
/* `stop`: ends the processes of a sandbox; what is on disk stays. */
#include "app/sandbox/sandbox.h"
#include "ops/rows/rows.h"

int op_stop_run(struct op_call *call, struct error *err)
{
	const char *name;
	bool ended = false;

	if (op_want_words(call, 1, 1, err) < 0)
		return -1;
	name = call->words.items[0];
	if (app_stop(name, &ended, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "name", value_new_text(name));
	value_add(call->answer, "stopped", value_new_bool(ended));
	str_addf(&call->text, ended ? "stopped %s\n" : "%s: nothing was running\n", name);
	return 0;
}
