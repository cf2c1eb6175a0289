/* SPDX-License-Identifier: Apache-2.0 */
/* `--write workspace` of run and exec: what needs no consent is on the host when the command has ended. */
#include "ops/verbs/op_write.h"

#include "base/json_write.h"
#include "base/own.h"
#include "ops/promotion.h"
#include "ops/text/words.h"

#include <string.h>

#define WAITING_TOLD 20

int op_write_wanted(const struct op_call *call, bool *ret_wanted, struct error *err)
{
	const char *what = op_arg_text(call, "write");

	*ret_wanted = what != NULL;
	if (what && strcmp(what, "workspace") != 0)
		return error_set(err, ERROR_USAGE, "--write takes the word workspace");
	if (what && call->ceiling)
		return error_set(err, ERROR_DENIED, "a person decides what is written");
	return 0;
}

static void tell(struct op_call *call, const char *sandbox, const struct value *answer)
{
	const struct value *applied = value_get(answer, "applied");
	const struct value *waiting = value_get(answer, "waiting");

	if (value_get_text(answer, "promotion_id"))
		str_addf(&call->notes, "wrote %zu change%s to the host; take it back with: %s\n",
			 applied->many.count, applied->many.count == 1 ? "" : "s",
			 value_get_text(answer, "undo"));
	for (size_t i = 0; i < waiting->many.count && i < WAITING_TOLD; i++) {
		const struct value *one = waiting->many.items[i];

		str_add(&call->notes, "waits for your word: ");
		words_add_path(&call->notes, value_get_text(one, "path"));
		str_addf(&call->notes, " (%s)\n", value_get_text(one, "why"));
	}
	if (waiting->many.count > WAITING_TOLD)
		str_addf(&call->notes, "and %zu more\n", waiting->many.count - WAITING_TOLD);
	if (waiting->many.count > 0)
		str_addf(&call->notes, "they stay in %s; decide with: aisbx promote %s\n", sandbox,
			 sandbox);
	promotion_tell_ignored(&call->notes, answer);
}

int op_write(struct op_call *call, const char *sandbox, bool *ret_waits, struct error *err)
{
	owned(value_release) struct value *answer = NULL;

	if (write_through(sandbox, &answer, err) < 0)
		return error_context(err, "the command has run, but nothing was written");
	*ret_waits =
		value_get(answer, "waiting")->many.count > 0 || value_int_of(answer, "ignored") > 0;
	if (!call->json) {
		tell(call, sandbox, answer);
		return 0;
	}
	/* The result of the run, with what became of it beside. */
	str_truncate(&call->data, call->data.len - 1);
	str_add(&call->data, ",\"written\":");
	json_write(&call->data, answer, 0);
	str_add_char(&call->data, '}');
	return 0;
}
