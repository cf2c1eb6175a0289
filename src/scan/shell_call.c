/* What commands do to the shell that reads them: variables they set, functions of the text that they call. */
#include "base/own.h"
#include "scan/command.h"
#include "scan/fold.h"
#include "scan/shell_filter.h"
#include "scan/shell_word.h"

#include <stdio.h>
#include <string.h>

/* So deep do calls of the text's own functions go, and so many nodes are looked at again for them and for loops. */
#define CALL_DEPTH_MAX 4u
#define AGAIN_MAX 20000u
#define KEY_SIZE 128

void shell_define(struct shell *shell, const char *name, size_t len, const char *value)
{
	bool is_known = value && !strchr(value, FOLD_GAP);

	meanings_replace(&shell->variables, name, len,
			 is_known ? meaning_new(&shell->variables, MEANS_TEXT, value, strlen(value))
				  : NULL);
}

/* "NAME=", likewise no variable's name. */
static bool former_key(const char *name, size_t len, char key[static KEY_SIZE])
{
	return len > 0 && len < KEY_SIZE &&
	       snprintf(key, KEY_SIZE, "%.*s=", (int)len, name) < KEY_SIZE;
}

static const struct meaning *text_of(const struct shell *shell, const char *name, size_t len)
{
	const struct meaning *meaning = NULL;

	(void)meanings_look_up(&shell->variables, name, len, &meaning);
	return meaning_of_kind(meaning, MEANS_TEXT);
}

const struct meaning *shell_variable(const struct shell *shell, const char *name, size_t len)
{
	const struct meaning *former = NULL;
	char key[KEY_SIZE];

	if (shell->is_former && former_key(name, len, key))
		former = text_of(shell, key, strlen(key));
	return former ? former : text_of(shell, name, len);
}

void shell_keep(struct shell *shell, const char *name, size_t len, bool is_sure)
{
	const struct meaning *now = text_of(shell, name, len), *former;
	char key[KEY_SIZE];

	if (!now || !former_key(name, len, key))
		return;
	former = text_of(shell, key, strlen(key));
	if (is_sure ? former != NULL : !former && now->len > 0)
		meanings_replace(
			&shell->variables, key, strlen(key),
			is_sure ? NULL
				: meaning_new(&shell->variables, MEANS_TEXT, now->text, now->len));
}

bool shell_name_varies(const struct shell *shell, uint32_t command)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t name = syntax_child(syntax, command, FIELD_NAME);

	for (uint32_t at = name; name != SYNTAX_NONE && at < syntax->nodes[name].after; at++) {
		if (syntax->nodes[at].kind == NODE_EXPANSION)
			return true;
	}
	return false;
}

/* "NAME()", which no variable can be called. */
static bool function_key(const char *name, size_t len, char key[static KEY_SIZE])
{
	return len > 0 && snprintf(key, KEY_SIZE, "%.*s()", (int)len, name) < KEY_SIZE;
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
	if (len < KEY_SIZE && function_key(text, len, key))
		meanings_replace(&shell->variables, key, strlen(key),
				 meaning_number(&shell->variables, node));
}

static uint32_t function_of(const struct shell *shell, const char *name)
{
	const struct meaning *meaning = NULL;
	char key[KEY_SIZE];

	if (strlen(name) < KEY_SIZE && function_key(name, strlen(name), key))
		(void)meanings_look_up(&shell->variables, key, strlen(key), &meaning);
	meaning = meaning_of_kind(meaning, MEANS_NUMBER);
	return meaning ? (uint32_t)meaning->number : SYNTAX_NONE;
}

/* Whether all that is below NODE may be looked at once more. */
static bool may_look_again(struct shell *shell, uint32_t node)
{
	uint32_t count = shell->syntax->nodes[node].after - node;

	if (count > AGAIN_MAX - shell->again)
		return false;
	shell->again += count;
	return true;
}

/* f() { "$@"; }; f rm -rf / */
static void call(struct shell *shell, uint32_t function, const struct strv *words)
{
	const struct strv *before = shell->given;
	owned(strv_done) struct strv given = STRV_INIT;

	if (shell->call_depth >= CALL_DEPTH_MAX || !may_look_again(shell, function))
		return;
	for (size_t i = 1; i < words->count; i++)
		strv_add(&given, words->items[i]);
	shell->given = &given;
	shell->call_depth++;
	for (uint32_t at = function + 1; at < shell->syntax->nodes[function].after; at++)
		shell->judge(shell, at);
	shell->call_depth--;
	shell->given = before;
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
	strv_done(&shell->positional);
	for (size_t i = 2; i < words->count; i++)
		strv_add(&shell->positional, words->items[i]);
	shell->given = &shell->positional;
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
	else if (words->count > 1 && strcmp(name, "set") == 0 &&
		 strcmp(words->items[1], "--") == 0 && shell->call_depth == 0)
		set_given(shell, words);
}

void shell_read(struct shell *shell, const struct strv *words, const char *text)
{
	size_t at = command_start(words);

	if (at >= words->count || strcmp(words->items[at], "read") != 0)
		return;
	for (at++; at < words->count; at++) {
		const char *name = words->items[at];
		bool is_last = at + 1 == words->count;
		size_t len;

		if (name[0] == '-')
			continue;
		text += strspn(text, " \t\n");
		len = is_last ? strcspn(text, "\n") : strcspn(text, " \t\n");
		if (len > 0) {
			owned(free_ptr) char *value = xstrndup(text, len);

			shell_define(shell, name, strlen(name), value);
		}
		text += len;
	}
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
		if (i + 1 == values.count || !may_look_again(shell, body))
			break;
		for (uint32_t at = body; at < syntax->nodes[body].after; at++) {
			/* for x in rm ls; do $x ...: each is run. */
			if (syntax->nodes[at].kind == NODE_ASSIGNMENT ||
			    (syntax->nodes[at].kind == NODE_COMMAND &&
			     shell_name_varies(shell, at)))
				shell->judge(shell, at);
		}
	}
}
