/* SPDX-License-Identifier: Apache-2.0 */
/* `show`: one run, as it was recorded. */
#include "base/json_write.h"
#include "base/own.h"
#include "app/record/history.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

/* One line per field: names to the left, texts as they are, the rest as JSON. */
static void write_fields(struct op_call *call)
{
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *item = call->answer->many.items[i];

		str_addf(&call->text, "%-18s ", call->answer->many.keys[i]);
		if (item->kind == VALUE_TEXT)
			words_add_line(&call->text, item->text.bytes);
		else
			json_write(&call->text, item, 0);
		str_add_char(&call->text, '\n');
	}
}

int op_show_run(struct op_call *call, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	char run_id[27];

	if (call->words.count != 1)
		return error_advise(err, ERROR_USAGE, "`aisbx history` lists them",
				    "show takes one run: aisbx show RUN");
	if (engine_history(&history, err) < 0 ||
	    history_find(history, call->words.items[0], op_sees(call), run_id, err) < 0 ||
	    history_show(history, run_id, &call->answer, err) < 0)
		return -1;
	if (!call->json)
		write_fields(call);
	return 0;
}
