/* SPDX-License-Identifier: Apache-2.0 */
/* One argument of a tool: its type checked, its value put where the verb looks for it. */
#include "ops/tools/tool_take.h"

#include "base/text/clean_path.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/text/shell_quote.h"
#include "base/file/real_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bounds that no honest call meets; the size of a message bounds the rest. */
#define ITEMS_MAX 10000

static const struct op_param *find_param(const struct op *op, const char *name)
{
	for (const struct op_param *param = op->params; param && param->name; param++) {
		if (strcmp(param->name, name) == 0)
			return param;
	}
	return NULL;
}

void tool_add_param(struct op_call *call, const char *name, const char *value)
{
	const struct op_param *param = find_param(call->op, name);

	if (param)
		op_arg_add(call, param, value);
}

static int wrong_type(const struct tool_arg *arg, const char *what, struct error *err)
{
	return error_set(err, ERROR_USAGE, "the argument '%s' must be %s", arg->name, what);
}

/* A text without NUL bytes: words of a command line cannot hold one. */
static int check_text(const struct tool_arg *arg, const struct value *item, struct error *err)
{
	if (item->kind != VALUE_TEXT)
		return wrong_type(arg, "a string", err);
	if (strlen(item->text.bytes) != item->text.len)
		return wrong_type(arg, "without NUL characters", err);
	return 0;
}

static int check_choices(const struct tool_arg *arg, const char *word, struct error *err)
{
	size_t len = strlen(word);
	char shown[STR_SHOWN_SIZE];

	for (const char *at = arg->choices; at && *at;) {
		size_t size = strcspn(at, "|");

		if (size == len && strncmp(at, word, len) == 0)
			return 0;
		at += size + (at[size] == '|');
	}
	return error_set(err, ERROR_USAGE, "the argument '%s' is one of %s, not '%s'", arg->name,
			 arg->choices, str_shown(word, shown));
}

/* A single value as a word; models write numbers where texts are asked for, and the other way round. */
static int read_word(const struct tool_arg *arg, const struct value *item, char **ret_word,
		     struct error *err)
{
	const char *suffix = arg->suffix ? arg->suffix : "";

	if (item->kind == VALUE_INT && arg->type != TOOL_TEXTS) {
		*ret_word = xasprintf("%lld%s", (long long)item->integer, suffix);
		return 0;
	}
	if (item->kind == VALUE_REAL && arg->type == TOOL_NUMBER) {
		*ret_word = xasprintf("%.3f", item->real);
		return 0;
	}
	if (arg->type == TOOL_INT && item->kind != VALUE_TEXT)
		return wrong_type(arg, "a whole number", err);
	if (check_text(arg, item, err) < 0)
		return -1;
	if (arg->choices && check_choices(arg, item->text.bytes, err) < 0)
		return -1;
	*ret_word = xasprintf("%s%s", item->text.bytes, arg->type == TOOL_INT ? suffix : "");
	return 0;
}

static int read_words(const struct tool_arg *arg, const struct value *item, struct strv *ret_words,
		      struct error *err)
{
	/* One string where a list is asked for is what models write most often. */
	if (item->kind == VALUE_TEXT) {
		if (check_text(arg, item, err) < 0)
			return -1;
		strv_add(ret_words, item->text.bytes);
		return 0;
	}
	if (item->kind != VALUE_LIST || item->many.count > ITEMS_MAX)
		return wrong_type(arg, "a list of strings", err);
	for (size_t i = 0; i < item->many.count; i++) {
		const struct value *one = item->many.items[i];

		if (one->kind == VALUE_INT && arg->to == TOOL_TO_FLAG) {
			strv_addf(ret_words, "%lld", (long long)one->integer);
			continue;
		}
		if (check_text(arg, one, err) < 0)
			return -1;
		strv_add(ret_words, one->text.bytes);
	}
	return 0;
}

static int read_pairs(const struct tool_arg *arg, const struct value *item, struct strv *ret_words,
		      struct error *err)
{
	if (item->kind != VALUE_MAP || item->many.count > ITEMS_MAX)
		return wrong_type(arg, "an object of strings", err);
	for (size_t i = 0; i < item->many.count; i++) {
		const struct value *value = item->many.items[i];

		if (check_text(arg, value, err) < 0)
			return -1;
		strv_addf(ret_words, "%s=%s", item->many.keys[i], value->text.bytes);
	}
	return 0;
}

/* NAME=SCRIPT, as `race -c` takes it. */
static int read_attempt(const struct tool_arg *arg, const struct value *item,
			struct strv *ret_words, struct error *err)
{
	const char *name = item->kind == VALUE_MAP ? value_get_text(item, "name") : NULL;
	const struct value *script = name ? value_get(item, "script") : NULL;
	const struct value *command = name ? value_get(item, "command") : NULL;
	owned(str_done) struct str text = STR_INIT;

	if (!name || !script == !command)
		return wrong_type(arg, "a list of {name, script} or {name, command}", err);
	if (!*name || strchr(name, '=') || strlen(name) != value_get(item, "name")->text.len)
		return wrong_type(arg, "named without '=' and NUL characters", err);
	str_addf(&text, "%s=", name);
	if (command && command->kind == VALUE_TEXT)
		script = ptr_take(&command);
	if (script && check_text(arg, script, err) < 0)
		return -1;
	if (script)
		str_add(&text, script->text.bytes);
	else if (command->kind != VALUE_LIST || command->many.count == 0)
		return wrong_type(arg, "a list of {name, command: [...]}", err);
	else
		str_add(&text, "exec");
	for (size_t i = 0; command && i < command->many.count; i++) {
		if (check_text(arg, command->many.items[i], err) < 0)
			return -1;
		str_add_char(&text, ' ');
		shell_quote_add(&text, command->many.items[i]->text.bytes);
	}
	strv_add(ret_words, str_cstr(&text));
	return 0;
}

static int read_attempts(const struct tool_arg *arg, const struct value *item,
			 struct strv *ret_words, struct error *err)
{
	if (item->kind != VALUE_LIST || item->many.count > ITEMS_MAX)
		return wrong_type(arg, "a list of attempts", err);
	for (size_t i = 0; i < item->many.count; i++) {
		if (read_attempt(arg, item->many.items[i], ret_words, err) < 0)
			return -1;
	}
	return 0;
}

/* The argument as words, whatever its type. A switch that is off has none. */
static int read_any(const struct tool_arg *arg, const struct value *item, struct strv *ret_words,
		    struct error *err)
{
	char *word = NULL;

	switch (arg->type) {
	case TOOL_BOOL:
		if (item->kind != VALUE_BOOL)
			return wrong_type(arg, "true or false", err);
		if (item->truth)
			strv_add(ret_words, "1");
		return 0;
	case TOOL_TEXTS:
	case TOOL_COMMAND:
		return read_words(arg, item, ret_words, err);
	case TOOL_PAIRS:
		return read_pairs(arg, item, ret_words, err);
	case TOOL_ATTEMPTS:
		return read_attempts(arg, item, ret_words, err);
	case TOOL_TEXT:
	case TOOL_INT:
	case TOOL_NUMBER:
		break;
	}
	if (read_word(arg, item, &word, err) < 0)
		return -1;
	strv_take(ret_words, word);
	return 0;
}

static int take_flag(struct op_call *call, const struct tool_arg *arg, const struct strv *words,
		     struct error *err)
{
	const char *name = arg->target ? arg->target : arg->name;
	const struct op_param *param = find_param(call->op, name);
	const struct setting_row *row = param ? NULL : setting_find(name);

	for (size_t i = 0; i < words->count; i++) {
		if (param && !words->items[i][0])
			return error_set(err, ERROR_USAGE, "the argument '%s' is empty", arg->name);
		if (param)
			op_arg_add(call, param, words->items[i]);
		else if (!row ||
			 settings_set(&call->settings, row, arg->name, words->items[i], err) < 0)
			return row ? -1
				   : error_set(err, ERROR_INTERNAL, "%s: no flag for '%s'",
					       call->op->name, arg->name);
	}
	return 0;
}

/* A text is for a shell, whichever of the two arguments holds it; a list is passed as it is. */
static int take_command(struct op_call *call, const struct tool_arg *arg, const struct strv *words,
			bool is_list, struct error *err)
{
	if (call->command.count > 0)
		return error_set(err, ERROR_USAGE, "give a command or a script, not both");
	if (words->count == 0 || !words->items[0][0])
		return error_set(err, ERROR_USAGE, "the argument '%s' is empty", arg->name);
	if (is_list)
		strv_copy(&call->command, words);
	else
		strv_add_script(&call->command, words->items[0]);
	return 0;
}

static int take_profile(struct op_call *call, const char *name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (call->ceiling && !strv_has(&call->ceiling->profiles.words, name))
		return error_advise(err, ERROR_DENIED, "aisbx mcp --profile NAME",
				    "profile '%s': this server was not started with it",
				    str_shown(name, shown));
	tool_add_param(call, "profile", name);
	return 0;
}

static int invent_name(struct op_call *call, struct error *err)
{
	char name[ID_SHORT_SIZE];

	if (id_short("a", name, err) < 0)
		return -1;
	strv_add(&call->words, name);
	return 0;
}

/* Word by word: nothing that begins with a dash or is empty may pass for something else later. */
static int take_words(struct tool_call *call, const struct tool_arg *arg, const struct strv *words,
		      struct error *err)
{
	for (size_t i = 0; i < words->count; i++) {
		if (!words->items[i][0])
			return error_set(err, ERROR_USAGE, "the argument '%s' is empty", arg->name);
		strv_add(&call->call.words, words->items[i]);
		if (arg->to == TOOL_TO_SANDBOX)
			strv_add(&call->sandboxes, words->items[i]);
		if (arg->to == TOOL_TO_EXEC)
			strv_add(&call->execs, words->items[i]);
	}
	return 0;
}

/* The server reads it with its own rights, so it must lie where the client may look anyway; links are followed first. */
static int take_file(struct tool_call *call, const struct tool_arg *arg, const char *path,
		     struct error *err)
{
	owned(free_ptr) char *here = getcwd(NULL, 0);
	owned(free_ptr) char *real = path_real(path);
	char shown[STR_SHOWN_SIZE];

	if (!here || !real || !path_is_within(real, here))
		return error_set(err, ERROR_NOT_FOUND, "%s: '%s' is not in the workspace",
				 arg->name, str_shown(path, shown));
	strv_add(&call->call.words, real);
	return 0;
}

static void add_snapshot(struct op_call *call, const char *snapshot)
{
	struct strv *words = &call->words;
	char *name = words->items[words->count - 1];

	words->items[words->count - 1] = xasprintf("%s@%s", name, snapshot);
	free(name);
}

static int put(struct tool_call *call, const struct tool_arg *arg, const struct strv *words,
	       struct error *err)
{
	/* What was read has one at least, but for an empty list. */
	const char *first = words->count > 0 ? words->items[0] : "";

	switch (arg->to) {
	case TOOL_TO_FLAG:
		return take_flag(&call->call, arg, words, err);
	case TOOL_TO_PROFILE:
		return take_profile(&call->call, first, err);
	case TOOL_TO_SNAPSHOT:
		if (call->call.words.count > 0 && first[0])
			add_snapshot(&call->call, first);
		return 0;
	case TOOL_TO_FILE:
		return take_file(call, arg, first, err);
	case TOOL_TO_DIRECTORY:
		free(call->directory);
		call->directory = xstrdup(first);
		return 0;
	case TOOL_TO_INPUT:
	case TOOL_TO_COMMAND:
	case TOOL_TO_SCRIPT:
		return 0;
	case TOOL_TO_SANDBOX:
		if (arg->target) {
			strv_copy(&call->sandboxes, words);
			return take_flag(&call->call, arg, words, err);
		}
		break;
	case TOOL_TO_WORD:
	case TOOL_TO_EXEC:
	case TOOL_TO_NEW:
		break;
	}
	return take_words(call, arg, words, err);
}

int tool_take(struct tool_call *call, const struct tool_arg *arg, const struct value *item,
	      struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;

	if (!item && arg->absent)
		tool_add_param(&call->call, arg->absent, "1");
	if (!item)
		return arg->to == TOOL_TO_NEW ? invent_name(&call->call, err) : 0;
	if (arg->to == TOOL_TO_INPUT) {
		if (item->kind != VALUE_TEXT)
			return wrong_type(arg, "a string", err);
		str_add_bytes(&call->input, item->text.bytes, item->text.len);
		call->has_input = true;
		return 0;
	}
	if (read_any(arg, item, &words, err) < 0)
		return -1;
	if (arg->to == TOOL_TO_COMMAND || arg->to == TOOL_TO_SCRIPT)
		return take_command(&call->call, arg, &words, item->kind == VALUE_LIST, err);
	return put(call, arg, &words, err);
}
