/* SPDX-License-Identifier: Apache-2.0 */
/* `rollback`: back to a snapshot; what was there is kept under a name. */
#include "app/change/workspace.h"
#include "ops/rows/rows.h"

int op_rollback_run(struct op_call *call, struct error *err)
{
	const char *sandbox, *snapshot, *saved, *target;
	enum quiesce_mode how;

	if (op_want_words(call, 1, 2, err) < 0 || op_quiet(call, &how, err) < 0)
		return -1;
	sandbox = call->words.items[0];
	snapshot = call->words.count > 1 ? call->words.items[1] : NULL;
	if (app_rollback(sandbox, snapshot, how, &call->answer, err) < 0)
		return -1;
	saved = value_get_text(call->answer, "saved");
	target = value_get_text(call->answer, "snapshot");
	str_addf(&call->text, "%s is back at %s\n", sandbox,
		 target ? target : "where it began (it has no snapshots)");
	if (saved)
		str_addf(&call->text, "what it held is kept as %s: aisbx rollback %s %s\n", saved,
			 sandbox, saved);
	else
		str_add(&call->text, "nothing had changed since\n");
	return 0;
}
