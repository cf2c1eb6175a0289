/* SPDX-License-Identifier: Apache-2.0 */
/* What commands of a shell text would print, where that is certain. */
#include "base/core/own.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"
#include "scan/shell/shell_filter.h"
#include "scan/shell/shell_word.h"

#include <string.h>

/* echo -n words. */
static void echo_words(const struct strv *words, struct str *out)
{
	bool interprets = false, is_first = true, ignored;

	for (size_t i = 1; i < words->count; i++) {
		const char *word = words->items[i];

		if (is_first && word[0] == '-' && word[1] &&
		    strspn(word + 1, "neE") == strlen(word + 1)) {
			interprets = interprets || strchr(word, 'e');
			continue;
		}
		if (!is_first)
			str_add_char(out, ' ');
		if (interprets)
			fold_escapes(out, word, strlen(word), &ignored);
		else
			str_add(out, word);
		is_first = false;
	}
}

/* What the command prints without reading anything; false when it is not one of those. */
static bool print_words(const struct strv *words, struct str *out)
{
	const char *name = command_name(words->items[0]);
	size_t first = words->count > 1 && strcmp(words->items[1], "--") == 0 ? 2 : 1;

	if (strcmp(name, "printf") == 0)
		return shell_format(words, first, out);
	if (strcmp(name, "echo") == 0)
		echo_words(words, out);
	/* A file that does not exist yet, in a directory for temporary ones. */
	if (strcmp(name, "mktemp") == 0 &&
	    (words->count == 1 || strcmp(words->items[1], "-d") == 0) && words->count <= 2)
		str_add(out, "/tmp/tmp.XXXXXXXXXX");
	return strcmp(name, "echo") == 0 || out->len > 0;
}

/* A here-string or here-document that the command reads; false when it has none. */
static bool read_document(struct shell *shell, uint32_t command, struct str *out)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t above = syntax->nodes[command].parent;
	uint32_t end = syntax->nodes[command].after;

	if (above != SYNTAX_NONE && syntax->nodes[above].kind == NODE_REDIRECTED)
		end = syntax->nodes[above].after;
	for (uint32_t at = command + 1; at < end; at++) {
		if (syntax->nodes[at].kind != NODE_HERESTRING &&
		    syntax->nodes[at].kind != NODE_HEREDOC)
			continue;
		shell_document(shell, at, out);
		return true;
	}
	return false;
}

/* Whether the command gets what the one before prints. */
static bool is_piped(const struct syntax *syntax, uint32_t command)
{
	uint32_t at = command, above = syntax->nodes[at].parent;

	while (above != SYNTAX_NONE && syntax->nodes[above].kind == NODE_REDIRECTED) {
		at = above;
		above = syntax->nodes[at].parent;
	}
	return above != SYNTAX_NONE && syntax->nodes[above].kind == NODE_PIPELINE &&
	       syntax_first(syntax, above) != at;
}

/* Adds to OUT, or changes, what COMMAND makes of it. */
static bool run_command(struct shell *shell, uint32_t command, struct str *out)
{
	owned(strv_done) struct strv words = STRV_INIT;
	owned(str_done) struct str own = STR_INIT;
	bool is_fed = is_piped(shell->syntax, command);

	shell_words(shell, command, &words);
	if (words.count == 0)
		return false;
	if (is_fed && shell_filter(&words, out))
		return true;
	if (!print_words(&words, &own) &&
	    !(read_document(shell, command, &own) && shell_filter(&words, &own)))
		return false;
	/* What does not read what comes in prints its own instead. */
	if (is_fed)
		str_clear(out);
	else if (out->len > 0)
		str_add_char(out, '\n');
	str_add_bytes(out, str_cstr(&own), own.len);
	return true;
}

bool shell_output(struct shell *shell, uint32_t from, uint32_t to, struct str *out)
{
	const struct syntax *syntax = shell->syntax;
	bool is_any = false;

	for (uint32_t at = from; at < to; at++) {
		if (syntax->nodes[at].kind != NODE_COMMAND)
			continue;
		if (!run_command(shell, at, out) || out->len > SHELL_WORD_MAX)
			return false;
		is_any = true;
		/* The commands in its own words have been read with it. */
		at = syntax->nodes[at].after - 1;
	}
	return is_any && !memchr(str_cstr(out), FOLD_GAP, out->len);
}
