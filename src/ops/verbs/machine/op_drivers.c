/* SPDX-License-Identifier: Apache-2.0 */
/* `drivers`: the ways to isolate a command, a table with what each lacks under it. */
#include "app/doctor/drivers.h"
#include "ops/rows/rows.h"

int op_drivers_run(struct op_call *call, struct error *err)
{
	if (op_want_words(call, 0, 0, err) < 0 ||
	    app_drivers(call->environ, op_arg_switch(call, "measure"), &call->answer, err) < 0)
		return -1;
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		const char *why = value_get_text(row, "why");

		str_addf(&call->text, "%-10s %-7s %-11s %s\n%10s lacks: %s\n",
			 value_get_text(row, "name"), value_get_text(row, "strength"),
			 value_get_text(row, "isolation"), value_get_text(row, "summary"), "",
			 value_get_text(row, "cannot_enforce"));
		if (value_get_text(row, "measured"))
			str_addf(&call->text, "%10s starts in %.1f ms (%s)\n", "",
				 value_get(row, "start_ms")->real, value_get_text(row, "measured"));
		if (why)
			str_addf(&call->text, "%10s not here: %s\n", "", why);
	}
	return 0;
}
