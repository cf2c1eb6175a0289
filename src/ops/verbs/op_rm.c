/* SPDX-License-Identifier: Apache-2.0 */
/* `rm`: removes sandboxes; those that are there go, even when others are missing. */
#include "app/change/workspace.h"
#include "ops/rows/rows.h"

#include <string.h>

/* The status of the first failure is the verb's; what was missing counts least. */
static void fold_status(struct op_call *call, const struct error *err)
{
	int status = error_exit_status(err->code);

	if (call->exit_status == 0 || call->exit_status == error_exit_status(ERROR_NOT_FOUND))
		call->exit_status = status;
}

static void remove_one(struct op_call *call, const char *name)
{
	struct value *row = value_append(call->answer, value_new_map());
	struct error err;
	bool removed = engine_remove(name, &err) == 0;

	value_add(row, "name", value_new_text(name));
	value_add(row, "removed", value_new_bool(removed));
	if (removed) {
		str_addf(&call->text, "removed %s\n", name);
		return;
	}
	struct value *error = value_add(row, "error", value_new_map());

	value_add(error, "code", value_new_text(error_code_name(err.code)));
	value_add(error, "message", value_new_text(err.text));
	str_addf(&call->notes, "%s\n", err.text);
	fold_status(call, &err);
}

int op_rm_run(struct op_call *call, struct error *err)
{
	if (op_want_words(call, 1, SIZE_MAX, err) < 0)
		return -1;
	call->answer = value_new_list();
	for (size_t i = 0; i < call->words.count; i++)
		remove_one(call, call->words.items[i]);
	return 0;
}
