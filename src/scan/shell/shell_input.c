/* SPDX-License-Identifier: Apache-2.0 */
/* What comes into a command that is known: code for an interpreter, values for read. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"
#include "scan/shell/shell_word.h"

#include <string.h>

/* The words of the command whose input NODE, a redirection, is. */
static void fed_command(struct shell *shell, uint32_t node, struct strv *ret_words)
{
	uint32_t parent = shell->syntax->nodes[node].parent;
	uint32_t command = parent == SYNTAX_NONE ? SYNTAX_NONE : shell_command_in(shell, parent);

	if (command != SYNTAX_NONE)
		shell_words(shell, command, ret_words);
}

void shell_separators(const struct shell *shell, char out[static SHELL_SEPARATORS_SIZE])
{
	static const char blanks[] = " \t\n";
	const struct abstract_value *own = shell_variable(shell, "IFS", 3);
	size_t count = sizeof(blanks) - 1;

	memcpy(out, blanks, sizeof(blanks));
	for (const char *at = own ? own->text : ""; *at; at++) {
		if (strchr(out, *at))
			continue;
		out[count++] = *at;
		out[count] = '\0';
	}
}

/* Letters of options of read and mapfile that take the next word. */
static bool takes_value(const char *option, bool is_list)
{
	return option[1] && strchr(is_list ? "dnOsucC" : "dinNptu", option[strlen(option) - 1]);
}

/* mapfile -t NAME, read -a NAME: kept with blanks between the items, as lists are. */
static void read_items(struct shell *shell, const char *name, const char *text,
		       const char *separators)
{
	owned(free_ptr) char *items = xstrdup(text);

	for (char *at = items; *at; at++) {
		if (strchr(separators, *at))
			*at = at[1] ? ' ' : '\0';
	}
	shell_define(shell, name, strlen(name), items);
}

/* The length of what NAME gets, which ends where one of ENDS is. */
static size_t read_value(struct shell *shell, const char *name, const char *text, const char *ends)
{
	size_t len = strcspn(text, ends);
	owned(free_ptr) char *value = xstrndup(text, len);

	if (len > 0)
		shell_define(shell, name, strlen(name), value);
	return len;
}

void shell_read(struct shell *shell, const struct strv *words, const char *text)
{
	size_t at = command_start(words);
	bool is_list = at < words->count && in_list("mapfile readarray", words->items[at]);
	bool is_array = false;
	char separators[SHELL_SEPARATORS_SIZE];

	if (at >= words->count || (!is_list && strcmp(words->items[at], "read") != 0))
		return;
	shell_separators(shell, separators);
	const char *between = is_list ? "\n" : separators;

	for (at++; at < words->count; at++) {
		const char *name = words->items[at];
		bool is_last = at + 1 == words->count;

		if (name[0] == '-') {
			at += takes_value(name, is_list);
			is_array = is_array || (!is_list && strchr(name, 'a'));
			continue;
		}
		if (is_list || is_array) {
			read_items(shell, name, text, between);
			return;
		}
		text += strspn(text, between);
		text += read_value(shell, name, text, is_last ? "\n" : between);
	}
}

/* while read -r x; do $x; done: once more for each line but the first, which the text around it has been through. */
static void read_in_loop(struct shell *shell, uint32_t loop, const struct strv *words,
			 const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		owned(free_ptr) char *line = xstrndup(text, len);

		shell_read(shell, words, line);
		if (!shell_look_again(shell, loop))
			return;
		text += len;
		text += *text == '\n';
	}
}

static void feed_code(struct shell *shell, uint32_t node, enum scan_language language,
		      const char *text)
{
	owned(free_ptr) char *code = xstrdup(text);

	/* What is not known must not break a text that is parsed; a name or a part of one does not. */
	for (char *at = code; language != SCAN_SHELL && *at; at++) {
		if (*at == FOLD_GAP)
			*at = '_';
	}
	if (*code)
		(void)job_nested(shell->job, shell->syntax->nodes[node].start, language, code,
				 strlen(code));
}

void shell_feed(struct shell *shell, uint32_t node, const char *text)
{
	owned(strv_done) struct strv words = STRV_INIT;
	enum scan_language language;
	uint32_t above = shell->syntax->nodes[node].parent, first;

	fed_command(shell, node, &words);
	if (words.count == 0)
		return;
	language = shell_reads_as(&words);
	if (language != SCAN_UNKNOWN)
		feed_code(shell, node, language, text);
	else if (command_reads_code(&words))
		judge_foreign(shell->job, shell->syntax->nodes[node].start, &words, text);
	first = syntax_first(shell->syntax, above);
	if (shell->syntax->nodes[above].kind == NODE_REDIRECTED && first != SYNTAX_NONE &&
	    shell->syntax->nodes[first].kind != NODE_COMMAND && strcmp(words.items[0], "read") == 0)
		read_in_loop(shell, first, &words, text);
	else
		shell_read(shell, &words, text);
}

void shell_feed_from(struct shell *shell, uint32_t node, uint32_t destination)
{
	const struct syntax_node *it = &shell->syntax->nodes[node];
	const struct syntax_node *from = &shell->syntax->nodes[destination];
	owned(strv_done) struct strv words = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;

	/* bash < <(echo ...), mapfile -t x < <(...) */
	if (from->kind == NODE_PROCESS_SUBSTITUTION &&
	    shell_output(shell, destination, from->after, &text))
		shell_feed(shell, node, str_cstr(&text));
	/* sh <&3: code from a descriptor that something else was opened on. */
	if (!memchr(shell->syntax->text + it->start, '&', it->end - it->start))
		return;
	fed_command(shell, node, &words);
	if (words.count > 0 && command_reads_code(&words))
		job_find(shell->job, it->start, RULE_PIPE, SEVERITY_MEDIUM, NULL);
}
