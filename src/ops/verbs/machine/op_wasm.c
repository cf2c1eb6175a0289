/* SPDX-License-Identifier: Apache-2.0 */
/* `wasm ls|install`: languages for the wasm driver. */
#include "base/core/own.h"
#include "app/run/wasm.h"
#include "ops/rows/rows.h"

#include <string.h>

static int install(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	const struct app_wasm_install how = { .names = &names,
					      .from = op_arg_text(call, "from"),
					      .environ = call->environ,
					      .progress = call->progress };

	for (size_t i = 1; i < call->words.count; i++)
		strv_add(&names, call->words.items[i]);
	if (app_wasm_install(&how, &call->answer, err) < 0)
		return -1;
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		bool was_there = strcmp(value_get_text(row, "state"), "present") == 0;

		str_addf(&call->text, "%s %s\n", value_get_text(row, "name"),
			 was_there ? "was there" : "is installed");
	}
	return 0;
}

int op_wasm_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "";

	if (strcmp(word, "ls") == 0 && call->words.count == 1)
		return app_wasm_list(&call->answer, err);
	if (strcmp(word, "install") == 0 && call->words.count >= 2)
		return install(call, err);
	return error_set(err, ERROR_USAGE,
			 "write aisbx wasm ls, or aisbx wasm install NAME... [--from FILE]");
}
