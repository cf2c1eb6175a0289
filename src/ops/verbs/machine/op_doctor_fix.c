/* SPDX-License-Identifier: Apache-2.0 */
/* `doctor --fix` and `--undo`: each change is shown, asked about, made. */
#include "app/doctor/fix.h"
#include "base/core/own.h"
#include "ops/rows/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally {
	size_t done, open, failed;
};

static bool is_wanted(const struct op_call *call, const char *name)
{
	return call->words.count == 0 || strv_has(&call->words, name);
}

static int check_names(const struct op_call *call, const struct value *list, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < call->words.count; i++) {
		bool is_known = false;

		for (size_t j = 0; j < list->many.count; j++)
			is_known |= str_same(value_get_text(list->many.items[j], "name"),
					     call->words.items[i]);
		if (!is_known)
			return error_set(err, ERROR_NOT_FOUND, "there is no '%s' to %s",
					 str_shown(call->words.items[i], shown),
					 op_arg_switch(call, "undo") ? "take back" : "fix");
	}
	return 0;
}

static void show(struct op_call *call, const struct value *item)
{
	const struct value *commands = value_get(item, "commands"), *left = value_get(item, "left");
	const char *why = value_get_text(item, "why");

	str_add(&call->text, value_get_text(item, "name"));
	if (why)
		str_addf(&call->text, ": %s", why);
	str_add_char(&call->text, '\n');
	for (size_t i = 0; i < commands->many.count; i++)
		str_addf(&call->text, "  %s\n", commands->many.items[i]->text.bytes);
	for (size_t i = 0; i < value_list_count(item, "left"); i++)
		str_addf(&call->text, "  # %s was changed since, and stays\n",
			 left->many.items[i]->text.bytes);
}

static bool agree(struct op_call *call, const struct value *item)
{
	owned(free_ptr) char *question =
		xasprintf("%s %s? [y]es or [n]o: ",
			  op_arg_switch(call, "undo") ? "Take back" : "Run these for",
			  value_get_text(item, "name"));

	if (op_arg_switch(call, "yes"))
		return true;
	return call->ask && call->ask(call, question) == 'y';
}

/* Makes the change, where that is agreed to; the row says what came of it. */
static void treat(struct op_call *call, struct value *item, bool can_run, struct tally *tally)
{
	bool is_undo = op_arg_switch(call, "undo");
	const char *name = value_get_text(item, "name");
	const char *state = is_undo ? "undone" : "done";
	struct error err;
	int outcome;

	show(call, item);
	if (!can_run || !agree(call, item)) {
		tally->open++;
		value_add(item, "state", value_new_text("open"));
		return;
	}
	outcome = is_undo ? app_fix_undo(value_int_of(item, "id"), &err) : app_fix(item, &err);
	if (outcome < 0) {
		tally->failed++;
		state = "failed";
		value_add(item, "error", value_new_text(err.text));
		str_addf(&call->notes, "%s: %s\n", name, err.text);
		call->exit_status = error_exit_status(err.code);
	} else {
		tally->done++;
	}
	value_add(item, "state", value_new_text(state));
	str_addf(&call->text, "%s: %s\n", name, state);
}

static void tell_end(struct op_call *call, bool can_run, const struct tally *tally)
{
	bool is_undo = op_arg_switch(call, "undo");

	if (tally->done + tally->open + tally->failed == 0)
		str_add(&call->text, is_undo ? "Nothing is on record that could be taken back.\n"
					     : "A setting of this machine would mend nothing that "
					       "doctor finds.\n");
	if (tally->failed > 0)
		str_addf(&call->notes,
			 "what was done before that is on record: aisbx doctor --undo %s\n",
			 is_undo ? "tries the rest again" : "takes it back");
	if (tally->done > 0 && !is_undo)
		str_add(&call->text, "aisbx doctor --undo takes it back.\n");
	if (tally->open == 0)
		return;
	if (tally->done + tally->failed == 0)
		call->exit_status = error_exit_status(ERROR_CONSENT);
	if (!can_run)
		str_add(&call->notes,
			"nothing was changed: sudo is missing or asks for a password; run sudo -v "
			"first, or the commands by hand\n");
	else if (!call->ask)
		str_add(&call->notes, "nothing was changed: say --yes\n");
}

int op_doctor_fix(struct op_call *call, struct error *err)
{
	bool is_undo = op_arg_switch(call, "undo"), can_run;
	struct tally tally = { .done = 0 };
	owned(value_release) struct value *list = NULL;

	if (is_undo && op_arg_switch(call, "fix"))
		return error_set(err, ERROR_USAGE, "--fix and --undo are two things");
	if (getenv("AISBX_SANDBOX"))
		return error_advise(err, ERROR_DENIED, "run aisbx outside of it",
				    "this is a sandbox: no setting of the machine can be changed");
	if ((is_undo ? app_fixes_done(&list, &can_run, err) : app_fixes(&list, &can_run, err)) <
		    0 ||
	    check_names(call, list, err) < 0)
		return -1;
	call->answer = value_new_list();
	for (size_t i = 0; i < list->many.count; i++) {
		struct value *item = list->many.items[i];

		if (!is_wanted(call, value_get_text(item, "name")))
			continue;
		treat(call, item, can_run, &tally);
		value_free(value_take(item, "steps"));
		value_append(call->answer, item);
		list->many.items[i] = value_new_null();
	}
	tell_end(call, can_run, &tally);
	return 0;
}
