/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up verbs and the arguments given to one. */
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

const struct op *op_find(const char *name)
{
	for (const struct op *const *at = ops; *at; at++) {
		if (strcmp((*at)->name, name) == 0)
			return *at;
	}
	return NULL;
}

const struct strv *op_arg_list(const struct op_call *call, const char *name)
{
	for (size_t i = 0; i < call->arg_count; i++) {
		if (strcmp(call->args[i].param->name, name) == 0)
			return &call->args[i].values;
	}
	return NULL;
}

const char *op_arg_text(const struct op_call *call, const char *name)
{
	const struct strv *values = op_arg_list(call, name);

	return values && values->count > 0 ? values->items[values->count - 1] : NULL;
}

bool op_arg_switch(const struct op_call *call, const char *name)
{
	return op_arg_text(call, name) != NULL;
}

void op_note_line(void *cookie, const char *line)
{
	struct op_call *call = cookie;

	str_addf(&call->notes, "%s\n", line);
	if (call->note)
		call->note(call);
}

int op_want_words(const struct op_call *call, size_t min, size_t max, struct error *err)
{
	const char *blank = call->op->usage[0] ? " " : "";
	char shown[STR_SHOWN_SIZE];

	if (call->words.count < min)
		return error_set(err, ERROR_USAGE, "%s needs more words: aisbx %s %s",
				 call->op->name, call->op->name, call->op->usage);
	if (call->words.count > max)
		return error_set(err, ERROR_USAGE, "%s: one word too many for aisbx %s%s%s",
				 str_shown(call->words.items[max], shown), call->op->name, blank,
				 call->op->usage);
	return 0;
}

void op_arg_add(struct op_call *call, const struct op_param *param, const char *value)
{
	struct op_arg *arg = NULL;

	for (size_t i = 0; i < call->arg_count; i++) {
		if (call->args[i].param == param)
			arg = &call->args[i];
	}
	if (!arg) {
		call->args = xrealloc(call->args, call->arg_count + 1, sizeof(*call->args));
		arg = &call->args[call->arg_count++];
		*arg = (struct op_arg){ .param = param };
	}
	strv_add(&arg->values, value);
}

const char *op_sees(const struct op_call *call)
{
	return call->ceiling && !call->ceiling->sees_all ? call->ceiling->owner : NULL;
}

void op_call_init(struct op_call *call, const struct op *op, const char *const *env)
{
	*call = (struct op_call){ .op = op, .environ = env };
	settings_init(&call->settings);
}

void op_call_done(struct op_call *call)
{
	for (size_t i = 0; i < call->arg_count; i++)
		strv_done(&call->args[i].values);
	free(call->args);
	settings_done(&call->settings);
	strv_done(&call->words);
	strv_done(&call->command);
	value_free(call->answer);
	str_done(&call->data);
	str_done(&call->text);
	str_done(&call->notes);
	*call = (struct op_call){ .op = NULL };
}
