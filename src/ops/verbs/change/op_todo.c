/* SPDX-License-Identifier: Apache-2.0 */
/* `todo`: the steps kept with a sandbox. */
#include "base/core/own.h"
#include "app/change/todo.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

static void show_steps(struct op_call *call)
{
	const struct value *steps = value_get(call->answer, "steps");

	if (steps->many.count == 0)
		str_addf(&call->text, "no steps (aisbx todo %s --add TEXT adds one)\n",
			 call->words.items[0]);
	for (size_t i = 0; i < steps->many.count; i++) {
		const struct value *step = steps->many.items[i];

		str_addf(&call->text, "%3lld [%c] ", (long long)value_int_of(step, "n"),
			 value_is_true(step, "done") ? 'x' : ' ');
		words_add_line(&call->text, value_get_text(step, "text"));
		str_add_char(&call->text, '\n');
	}
}

static const struct strv *list_of(const struct op_call *call, const char *name)
{
	const struct strv *values = op_arg_list(call, name);

	return values && values->count > 0 ? values : NULL;
}

int op_todo_run(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv add = STRV_INIT;
	struct app_todo todo = { .clear = op_arg_switch(call, "clear"),
				 .done = list_of(call, "done"),
				 .undone = list_of(call, "undone") };
	const struct strv *more = list_of(call, "add");
	bool is_set = op_arg_switch(call, "set");

	if (op_want_words(call, 1, is_set ? SIZE_MAX : 1, err) < 0)
		return -1;
	if (is_set && call->words.count == 1)
		return error_advise(err, ERROR_USAGE, "--clear empties it",
				    "--set replaces the list by the words given: aisbx todo %s "
				    "--set \"first step\" \"second step\"",
				    call->words.items[0]);
	todo.sandbox = call->words.items[0];
	todo.clear |= is_set;
	for (size_t i = 1; i < call->words.count; i++)
		strv_add(&add, call->words.items[i]);
	for (size_t i = 0; more && i < more->count; i++)
		strv_add(&add, more->items[i]);
	todo.add = add.count > 0 ? &add : NULL;
	if (app_todo(&todo, &call->answer, err) < 0)
		return -1;
	if (!call->json)
		show_steps(call);
	return 0;
}
