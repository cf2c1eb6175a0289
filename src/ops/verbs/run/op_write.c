/* SPDX-License-Identifier: Apache-2.0 */
/* `--write workspace` of run and exec: what needs no consent is on the host when the command has ended. */
#include "ops/verbs/run/op_write.h"

#include "app/change/secret_look.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "ops/promotion.h"
#include "ops/text/words.h"

#include <string.h>

#define WAITING_SHOWN 20

int op_write_wanted(const struct op_call *call, bool *ret_wanted, struct error *err)
{
	const char *what = op_arg_text(call, "write");

	*ret_wanted = what != NULL;
	if (what && strcmp(what, "workspace") != 0)
		return error_set(err, ERROR_USAGE, "--write takes the word workspace");
	if (what && call->ceiling)
		return error_set(err, ERROR_DENIED, "a person decides what is written");
	return what ? secret_look_ready(err) : 0;
}

/* Everything that was written while the command ran, and how all of it is taken back. */
static void report_promotions(struct op_call *call, const struct value *promotions)
{
	size_t count = promotions->many.count, changes = 0;

	for (size_t i = 0; i < count; i++)
		changes += value_get(promotions->many.items[i], "paths")->many.count;
	if (count == 0)
		return;
	str_addf(&call->notes, "wrote %zu change%s to the host; take %s back with: ", changes,
		 changes == 1 ? "" : "s", count == 1 ? "it" : "them");
	for (size_t i = 0; i < count; i++)
		str_addf(&call->notes, "%s%s", i > 0 ? " && " : "",
			 value_get_text(promotions->many.items[i], "undo"));
	str_add_char(&call->notes, '\n');
}

static void show_waiting(struct op_call *call, const char *sandbox, const struct value *answer)
{
	const struct value *waiting = value_get(answer, "waiting");

	report_promotions(call, value_get(answer, "promotions"));
	for (size_t i = 0; i < waiting->many.count && i < WAITING_SHOWN; i++) {
		const struct value *one = waiting->many.items[i];

		str_add(&call->notes, "waits for your word: ");
		words_add_path(&call->notes, value_get_text(one, "path"));
		str_addf(&call->notes, " (%s)\n", value_get_text(one, "why"));
	}
	if (waiting->many.count > WAITING_SHOWN)
		str_addf(&call->notes, "and %zu more\n", waiting->many.count - WAITING_SHOWN);
	if (waiting->many.count > 0)
		str_addf(&call->notes, "they stay in %s; decide with: aisbx promote %s\n", sandbox,
			 sandbox);
	promotion_report_ignored(&call->notes, answer);
}

int op_write(struct op_call *call, const char *sandbox, const struct write_watch *watch,
	     bool *ret_waits, struct error *err)
{
	owned(value_release) struct value *answer = NULL, *promotions = NULL;

	if (write_through(sandbox, &answer, err) < 0) {
		struct error ignored;

		if (write_promotions(sandbox, watch->since, &promotions, &ignored) == 0)
			report_promotions(call, promotions);
		return error_context(err,
				     "the command has run, but its last changes were not written");
	}
	if (write_promotions(sandbox, watch->since, &promotions, err) < 0)
		return -1;
	value_add(answer, "promotions", ptr_take(&promotions));
	*ret_waits =
		value_get(answer, "waiting")->many.count > 0 || value_int_of(answer, "ignored") > 0;
	if (!call->json) {
		show_waiting(call, sandbox, answer);
		return 0;
	}
	/* The result of the run, with what became of it beside. */
	str_truncate(&call->data, call->data.len - 1);
	str_add(&call->data, ",\"written\":");
	json_write(&call->data, answer, 0);
	str_add_char(&call->data, '}');
	return 0;
}
