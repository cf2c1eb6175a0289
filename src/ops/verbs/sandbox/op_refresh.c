/* SPDX-License-Identifier: Apache-2.0 */
/* `refresh`: today's host as the base of a sandbox. */
#include "app/change/workspace.h"
#include "ops/rows/rows.h"

int op_refresh_run(struct op_call *call, struct error *err)
{
	enum quiesce_mode how;

	if (op_want_words(call, 1, 1, err) < 0 || op_quiet(call, &how, err) < 0 ||
	    app_refresh(call->words.items[0], how, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text,
		 "%s now stands on the host as of %s; what it changed is still on top\n",
		 call->words.items[0], value_get_text(call->answer, "base_taken"));
	return 0;
}
