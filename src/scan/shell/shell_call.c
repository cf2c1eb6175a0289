/* SPDX-License-Identifier: Apache-2.0 */
/* What commands do to the shell that reads them: variables they set, functions of the text that they call. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"
#include "scan/shell/shell_filter.h"
#include "scan/shell/shell_word.h"

#include <stdlib.h>
#include <string.h>

/* So often may one function be among those being looked at, and so many nodes are looked at again for them and for loops. */
#define RECURSION_MAX 4u
#define AGAIN_MAX 200000u
/* A name of a name of a name. */
#define REFERENCES_MAX 4u
#define KEY_SIZE 128

/* NAME and END behind it; false when it is too long. */
static bool make_key(const char *name, size_t len, const char *end, char key[static KEY_SIZE])
{
	if (len == 0 || len + strlen(end) >= KEY_SIZE)
		return false;
	memcpy(key, name, len);
	memcpy(key + len, end, strlen(end) + 1);
	return true;
}

static const struct abstract_value *text_of(const struct shell *shell, const char *name, size_t len)
{
	const struct abstract_value *value = NULL;

	(void)abstract_values_look_up(&shell->variables, name, len, &value);
	return abstract_of_kind(value, ABSTRACT_TEXT);
}

void shell_refer(struct shell *shell, const char *name, size_t len, const char *value)
{
	char key[KEY_SIZE];

	if (!make_key(name, len, "&", key) || strchr(value, FOLD_GAP))
		return;
	abstract_values_replace(
		&shell->variables, key, strlen(key),
		abstract_new(&shell->variables, ABSTRACT_TEXT, value, strlen(value)));
	shell->has_references = true;
}

/* The variable that a name stands for: itself, unless declare -n made it another's. */
static void refer(const struct shell *shell, const char **name, size_t *len)
{
	const struct abstract_value *other;
	char key[KEY_SIZE];

	for (unsigned i = 0; shell->has_references && i < REFERENCES_MAX; i++) {
		if (!make_key(*name, *len, "&", key))
			return;
		other = text_of(shell, key, strlen(key));
		if (!other)
			return;
		*name = other->text;
		*len = other->len;
	}
}

void shell_define(struct shell *shell, const char *name, size_t len, const char *value)
{
	bool is_known = value && !strchr(value, FOLD_GAP);

	/* What is longer is not kept. */
	shell->is_cut = shell->is_cut || (is_known && strlen(value) > ABSTRACT_TEXT_MAX);
	refer(shell, &name, &len);
	abstract_values_replace(
		&shell->variables, name, len,
		is_known ? abstract_new(&shell->variables, ABSTRACT_TEXT, value, strlen(value))
			 : NULL);
}

/* "NAME=", likewise no variable's name. */
static bool former_key(const char *name, size_t len, char key[static KEY_SIZE])
{
	return make_key(name, len, "=", key);
}

const struct abstract_value *shell_variable(const struct shell *shell, const char *name, size_t len)
{
	const struct abstract_value *former = NULL;
	char key[KEY_SIZE];

	refer(shell, &name, &len);
	if (shell->is_former && former_key(name, len, key))
		former = text_of(shell, key, strlen(key));
	return former ? former : text_of(shell, name, len);
}

void shell_keep(struct shell *shell, const char *name, size_t len, bool is_sure)
{
	const struct abstract_value *now, *former;
	char key[KEY_SIZE];

	refer(shell, &name, &len);
	now = text_of(shell, name, len);
	if (!now || !former_key(name, len, key))
		return;
	former = text_of(shell, key, strlen(key));
	if (is_sure ? former != NULL : !former && now->len > 0)
		abstract_values_replace(&shell->variables, key, strlen(key),
					is_sure ? NULL
						: abstract_new(&shell->variables, ABSTRACT_TEXT,
							       now->text, now->len));
}

static bool varies(const struct shell *shell, uint32_t from)
{
	const struct syntax *syntax = shell->syntax;

	for (uint32_t at = from; at < syntax->nodes[from].after && job_spend(shell->job, 1); at++) {
		if (syntax->nodes[at].kind == NODE_EXPANSION)
			return true;
	}
	return false;
}

bool shell_name_varies(const struct shell *shell, uint32_t command)
{
	uint32_t name = syntax_child(shell->syntax, command, FIELD_NAME);

	return name != SYNTAX_NONE && varies(shell, name);
}

/* "NAME()", which no variable can be called. */
static bool function_key(const char *name, size_t len, char key[static KEY_SIZE])
{
	return make_key(name, len, "()", key);
}

void shell_note_function(struct shell *shell, uint32_t node)
{
	uint32_t name = syntax_child(shell->syntax, node, FIELD_NAME);
	char key[KEY_SIZE];
	const char *text;
	size_t len;

	if (name == SYNTAX_NONE)
		return;
	text = syntax_source(shell->syntax, name, &len);
	if (!function_key(text, len, key)) {
		shell->is_cut = true;
		return;
	}
	abstract_values_replace(&shell->variables, key, strlen(key),
				abstract_number(&shell->variables, node));
}

static uint32_t function_of(const struct shell *shell, const char *name)
{
	const struct abstract_value *value = NULL;
	char key[KEY_SIZE];

	if (function_key(name, strlen(name), key))
		(void)abstract_values_look_up(&shell->variables, key, strlen(key), &value);
	value = abstract_of_kind(value, ABSTRACT_NUMBER);
	return value ? (uint32_t)value->number : SYNTAX_NONE;
}

/* Whether all that is below NODE may be looked at once more. */
static bool may_look_again(struct shell *shell, uint32_t node)
{
	uint32_t count = shell->syntax->nodes[node].after - node;

	if (count > AGAIN_MAX - shell->again) {
		shell->is_cut = true;
		return false;
	}
	shell->again += count;
	return true;
}

/* Whether a call hands on less than all of what its own function was given, and all of it is known: it comes to an end. */
static bool runs_down(const struct shell *shell, const struct strv *words)
{
	size_t had = shell->given ? shell->given->count : 0;

	for (size_t i = 1; i < words->count; i++) {
		if (strchr(words->items[i], FOLD_GAP))
			return false;
	}
	return words->count > 1 && words->count - 1 < had;
}

void shell_mark(struct shell *shell, uint32_t command, const struct strv *words)
{
	uint32_t *mark;

	if (shell->call_depth == 0 ||
	    (!shell_name_varies(shell, command) &&
	     !in_list("eval source . sh bash dash zsh ksh exec env command", words->items[0])))
		return;
	mark = &shell->marks[shell->call_depth - 1];
	for (size_t i = 0; i < words->count; i++) {
		for (const char *at = words->items[i]; *at; at++)
			*mark = (*mark ^ (unsigned char)*at) * 16777619u;
		*mark = (*mark ^ ' ') * 16777619u;
	}
}

/* Whether the last two rounds of a function that calls itself ran the same: then further ones will, too. */
static bool is_settled(const struct shell *shell, uint32_t function)
{
	uint32_t marks[2] = { 0, 0 };
	unsigned rounds = 0;

	/* A round is what the function ran, and what those ran that it called on the way to itself. */
	for (unsigned i = shell->call_depth; i > 0 && rounds < 2; i--) {
		marks[rounds] = marks[rounds] * 16777619u + shell->marks[i - 1];
		rounds += shell->calls[i - 1] == function;
	}
	return marks[0] == marks[1];
}

/*
 * A function that calls itself is gone through a few times, and on while each round runs something else; one far down
 * the line must be reached, too. What would run something else still after many rounds is not analysable.
 */
static bool may_call(struct shell *shell, uint32_t function, const struct strv *words)
{
	unsigned open = 0;

	for (unsigned i = 0; i < shell->call_depth; i++)
		open += shell->calls[i] == function;
	/* f() { shift; f "$@"; }: what is at the end may be run in the end. */
	if (open > 0 && runs_down(shell, words))
		open = 0;
	if (open >= (shell->call_depth < RECURSION_MAX ? RECURSION_MAX : 1) &&
	    is_settled(shell, function)) {
		shell->stopped = function;
		return false;
	}
	if (shell->call_depth < SHELL_CALLS_MAX)
		return may_look_again(shell, function);
	shell->is_cut = true;
	return false;
}

static bool is_open(const struct shell *shell, uint32_t function)
{
	for (unsigned i = 0; i < shell->call_depth; i++) {
		if (shell->calls[i] == function)
			return true;
	}
	return false;
}

/* A round of a function has ended; f() { f; c=${c#?}; $c; } runs something else after each call of itself. */
static void end_round(struct shell *shell, uint32_t function)
{
	uint32_t mark = shell->marks[shell->call_depth];

	if (shell->stopped != function)
		return;
	if (is_open(shell, function)) {
		shell->returned = mark;
		shell->marks[shell->call_depth - 1] = 0;
		return;
	}
	shell->is_cut = shell->is_cut || mark != shell->returned;
	shell->stopped = 0;
}

/* f() { "$@"; }; f rm -rf / */
static void call(struct shell *shell, uint32_t function, const struct strv *words)
{
	struct strv *before = shell->given;
	size_t shifted = shell->shifted;
	owned(strv_done) struct strv given = STRV_INIT;

	if (!may_call(shell, function, words))
		return;
	for (size_t i = 1; i < words->count; i++)
		strv_add(&given, words->items[i]);
	shell->given = &given;
	shell->shifted = 0;
	shell->marks[shell->call_depth] = 0;
	shell->calls[shell->call_depth++] = function;
	for (uint32_t at = function + 1; at < shell->syntax->nodes[function].after; at++)
		shell->judge(shell, at);
	shell->call_depth--;
	end_round(shell, function);
	shell->given = before;
	shell->shifted = shifted;
}

/* printf -v NAME FORMAT WORDS */
static void print_into(struct shell *shell, const struct strv *words)
{
	owned(str_done) struct str value = STR_INIT;

	if (shell_format(words, 3, &value))
		shell_define(shell, words->items[2], strlen(words->items[2]), str_cstr(&value));
}

/* set -- WORDS: what $1 and $@ are from here on. */
static void set_given(struct shell *shell, const struct strv *words)
{
	if (!shell->given)
		shell->given = &shell->positional;
	strv_done(shell->given);
	for (size_t i = 2; i < words->count; i++)
		strv_add(shell->given, words->items[i]);
	shell->shifted = 0;
}

/* shift, shift 2 */
static void shift(struct shell *shell, const struct strv *words)
{
	unsigned long count = words->count > 1 ? strtoul(words->items[1], NULL, 10) : 1;

	if (shell->given && count <= shell->given->count - shell->shifted)
		shell->shifted += count;
}

void shell_effect(struct shell *shell, const struct strv *words)
{
	const char *name = words->items[0];
	uint32_t function = function_of(shell, name);

	if (function != SYNTAX_NONE)
		call(shell, function, words);
	else if (words->count > 3 && strcmp(name, "printf") == 0 &&
		 strcmp(words->items[1], "-v") == 0)
		print_into(shell, words);
	else if (words->count > 1 && strcmp(name, "set") == 0 && strcmp(words->items[1], "--") == 0)
		set_given(shell, words);
	else if (strcmp(name, "shift") == 0)
		shift(shell, words);
	else if (strcmp(name, "alias") == 0 || strcmp(name, "hash") == 0)
		shell_note_alias(shell, words);
}

bool shell_look_again(struct shell *shell, uint32_t node)
{
	const struct syntax *syntax = shell->syntax;

	if (!may_look_again(shell, node))
		return false;
	for (uint32_t at = node; at < syntax->nodes[node].after; at++) {
		/* for x in rm ls; do $x ...: each is run. */
		if (syntax->nodes[at].kind == NODE_ASSIGNMENT ||
		    (syntax->nodes[at].kind == NODE_COMMAND &&
		     (varies(shell, at) || syntax->nodes[at + 1].kind == NODE_ASSIGNMENT)))
			shell->judge(shell, at);
	}
	return true;
}

/* for x in r m; do c=$c$x; done: each but the last round for what it assigns; the last is gone through as it stands. */
void shell_loop(struct shell *shell, uint32_t node)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t name = syntax_child(syntax, node, FIELD_VARIABLE);
	uint32_t body = syntax_child(syntax, node, FIELD_BODY);
	owned(strv_done) struct strv values = STRV_INIT;
	const char *text;
	size_t len;

	if (name == SYNTAX_NONE || body == SYNTAX_NONE)
		return;
	for (uint32_t at = syntax_first(syntax, node); at != SYNTAX_NONE;
	     at = syntax_next(syntax, at)) {
		if (syntax->nodes[at].field == FIELD_VALUE)
			shell_add_words(shell, at, &values);
	}
	text = syntax_source(syntax, name, &len);
	for (size_t i = 0; i < values.count; i++) {
		shell_define(shell, text, len, values.items[i]);
		if (i + 1 == values.count || !shell_look_again(shell, body))
			break;
	}
}
