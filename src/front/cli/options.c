/* SPDX-License-Identifier: Apache-2.0 */
/* argv into a call: long flags with or without '=', short letters, `--` before a command. */
#include "front/cli/options.h"

#include "base/text/suggest.h"
#include "base/core/own.h"

#include <stdlib.h>
#include <string.h>

/* Where we are in argv. */
struct cursor {
	struct op_call *call;
	char *const *next;
};

static const struct op_param *find_in(const struct op_param *param, const char *name, char letter)
{
	for (; param && param->name; param++) {
		if (name ? strcmp(param->name, name) == 0 : param->letter == letter)
			return param;
	}
	return NULL;
}

static const struct op_param *find_param(const struct op *op, const char *name, char letter)
{
	const struct op_param *own = find_in(op->params, name, letter);

	return own ? own : find_in(op_common_params, name, letter);
}

static const struct setting_row *find_setting(const struct op *op, const char *name)
{
	const struct setting_row *row = op->flags & OP_SETTINGS ? setting_find(name) : NULL;

	return row && row->flag ? row : NULL;
}

static void try_names(struct suggest *suggest, const struct op *op)
{
	for (const struct op_param *param = op->params; param && param->name; param++)
		suggest_try(suggest, param->name);
	for (const struct op_param *param = op_common_params; param->name; param++)
		suggest_try(suggest, param->name);
	if (!(op->flags & OP_SETTINGS))
		return;
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		if (row->flag)
			suggest_try(suggest, row->name);
	}
}

static int unknown_flag(const struct op *op, const char *name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, name);
	try_names(&suggest, op);
	(void)str_shown(name, shown);
	if (suggest.best) {
		error_set(err, ERROR_USAGE, "--%s: unknown flag", shown);
		return error_add_hint(err, "did you mean --%s?", suggest.best);
	}
	error_set(err, ERROR_USAGE, "--%s: unknown flag", shown);
	return error_add_hint(err, "aisbx help %s lists them", op->name);
}

/* The value given after '=', else the next word. A forgotten value must not swallow the `--`. */
static const char *value_of(struct cursor *at, const char *inline_value)
{
	if (inline_value)
		return inline_value;
	if (!*at->next || strcmp(*at->next, "--") == 0)
		return NULL;
	return *at->next++;
}

static int set_param(struct cursor *at, const struct op_param *param, const char *shown,
		     const char *inline_value, struct error *err)
{
	const char *value;

	if (param->kind == PARAM_SWITCH) {
		if (inline_value)
			return error_set(err, ERROR_USAGE, "%s takes no value", shown);
		op_arg_add(at->call, param, "1");
		return 0;
	}
	value = value_of(at, inline_value);
	if (!value)
		return error_set(err, ERROR_USAGE, "%s needs a value: %s %s", shown, shown,
				 param->metavar);
	if (!*value)
		return error_set(err, ERROR_USAGE, "%s: the value is empty", shown);
	op_arg_add(at->call, param, value);
	return 0;
}

static int set_setting(struct cursor *at, const struct setting_row *row, const char *shown,
		       const char *inline_value, struct error *err)
{
	const char *value =
		row->kind == SETTING_MAYBE && !inline_value ? "all" : value_of(at, inline_value);

	if (!value)
		return error_set(err, ERROR_USAGE, "%s needs a value: %s %s", shown, shown,
				 row->choices ? row->choices : row->metavar);
	return settings_set(&at->call->settings, row, shown, value, err);
}

static int parse_long(struct cursor *at, const char *word, struct error *err)
{
	const struct op *op = at->call->op;
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	owned(free_ptr) char *shown = xstrndup(word, len);
	const char *name = shown + 2, *value = equals ? equals + 1 : NULL;
	const struct op_param *param = find_param(op, name, 0);
	const struct setting_row *row = find_setting(op, name);

	if (param)
		return set_param(at, param, shown, value, err);
	if (row)
		return set_setting(at, row, shown, value, err);
	return unknown_flag(op, name, err);
}

/* -C DIR, -CDIR, and switches behind one dash. */
static int parse_short(struct cursor *at, const char *word, struct error *err)
{
	for (const char *letter = word + 1; *letter; letter++) {
		const struct op_param *param = find_param(at->call->op, NULL, *letter);
		char shown[3] = { '-', *letter, '\0' };
		bool takes_rest = param && param->kind != PARAM_SWITCH && letter[1];

		if (!param) {
			error_set(err, ERROR_USAGE, "-%c: unknown flag", *letter);
			return error_add_hint(err, "aisbx help %s lists them", at->call->op->name);
		}
		if (set_param(at, param, shown, takes_rest ? letter + 1 : NULL, err) < 0)
			return -1;
		if (takes_rest)
			break;
	}
	return 0;
}

/* Whether WORD is the command's first: no flag, and behind the name where one comes first. All behind it is the command's. */
static bool begins_command(const struct op_call *call, const char *word)
{
	unsigned flags = call->op->flags;

	if (!(flags & OP_COMMAND) || flags & OP_WORDS || (word[0] == '-' && word[1]))
		return false;
	return !(flags & OP_NAMED) || call->words.count == 1;
}

static int parse_word(struct cursor *at, const char *word, struct error *err)
{
	if (str_starts(word, "--"))
		return parse_long(at, word, err);
	if (word[0] == '-' && word[1])
		return parse_short(at, word, err);
	strv_add(&at->call->words, word);
	return 0;
}

int options_parse(struct op_call *call, char *const *words, struct error *err)
{
	struct cursor at = { call, words };

	while (*at.next) {
		if (begins_command(call, *at.next))
			break;
		const char *word = *at.next++;

		if (strcmp(word, "--") == 0)
			break;
		if (parse_word(&at, word, err) < 0)
			return -1;
	}
	for (; *at.next; at.next++)
		strv_add(call->op->flags & OP_COMMAND ? &call->command : &call->words, *at.next);
	call->json = op_arg_switch(call, "json");
	return 0;
}

/* Whether the flag WORD has its value in the next one. */
static bool takes_next(const struct op *op, const char *word)
{
	bool is_long = str_starts(word, "--");
	const struct setting_row *row;
	const struct op_param *param;

	/* -CDIR has it in itself. */
	if (!is_long && word[2])
		return false;
	param = find_param(op, is_long ? word + 2 : NULL, word[1]);
	if (param)
		return param->kind != PARAM_SWITCH;
	row = is_long ? find_setting(op, word + 2) : NULL;
	return row && row->kind != SETTING_MAYBE;
}

bool options_want_json(const struct op *op, char *const *words)
{
	size_t before = op && op->flags & OP_NAMED ? 1 : 0;
	bool has_command = op && op->flags & OP_COMMAND && !(op->flags & OP_WORDS);

	for (; *words && strcmp(*words, "--") != 0; words++) {
		const char *word = *words;

		if (strcmp(word, "--json") == 0)
			return true;
		if (word[0] != '-' || !word[1]) {
			if (has_command && before-- == 0)
				return false;
		} else if (op && takes_next(op, word) && words[1] && strcmp(words[1], "--") != 0) {
			words++;
		}
	}
	return false;
}
