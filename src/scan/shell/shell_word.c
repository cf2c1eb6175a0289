/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a shell text: quotes, variables, substitutions whose output is plain. */
#include "scan/shell/shell_word.h"

#include "base/core/own.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 8u
/* What a word costs, however short it is. */
#define WORD_COST 32u

/* A backslash outside quotes makes the next letter itself. */
static void add_unescaped(struct str *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 1 < len) {
			i++;
			if (text[i] == '\n')
				continue;
		}
		str_add_char(out, text[i]);
	}
}

static void add_children(struct shell *shell, uint32_t node, struct str *out)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t at = syntax->nodes[node].start;
	bool is_quoted = syntax->nodes[node].kind == NODE_STRING;
	uint32_t end = syntax->nodes[node].end;
	bool ignored;

	if (is_quoted) {
		at++;
		end -= end > at;
	}
	for (uint32_t child = syntax_first(syntax, node); child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		const struct syntax_node *it = &syntax->nodes[child];

		if (it->kind == NODE_STRING_PART || it->start < at)
			continue;
		if (is_quoted)
			fold_escapes(out, syntax->text + at, it->start - at, &ignored);
		shell_word_add(shell, child, out);
		at = it->end;
	}
	if (at < end)
		add_unescaped(out, syntax->text + at, end - at);
}

static void add_substitution(struct shell *shell, uint32_t node, struct str *out)
{
	owned(str_done) struct str printed = STR_INIT;

	if (shell->depth < DEPTH_MAX &&
	    shell_output(shell, node, shell->syntax->nodes[node].after, &printed))
		str_add_bytes(out, str_cstr(&printed), printed.len);
	else
		str_add_char(out, FOLD_GAP);
}

static void add_word(struct shell *shell, uint32_t node, struct str *out)
{
	size_t len;
	const char *text = syntax_source(shell->syntax, node, &len);
	bool ignored;

	switch (shell->syntax->nodes[node].kind) {
	case NODE_RAW_STRING:
		if (len >= 2)
			str_add_bytes(out, text + 1, len - 2);
		break;
	case NODE_ANSI_STRING:
		if (len >= 3)
			fold_escapes(out, text + 2, len - 3, &ignored);
		break;
	case NODE_EXPANSION:
		shell_expansion_add(shell, text, len, out);
		break;
	case NODE_COMMAND_SUBSTITUTION:
		shell->depth++;
		add_substitution(shell, node, out);
		shell->depth--;
		break;
	case NODE_PROCESS_SUBSTITUTION:
		str_add_char(out, FOLD_GAP);
		break;
	case NODE_STRING:
	case NODE_CONCATENATION:
	case NODE_COMMAND_NAME:
		if (shell->depth++ < DEPTH_MAX * 4)
			add_children(shell, node, out);
		shell->depth--;
		break;
	default:
		add_unescaped(out, text, len);
		break;
	}
}

void shell_word_add(struct shell *shell, uint32_t node, struct str *out)
{
	size_t before = out->len;

	if (before > SHELL_WORD_MAX || !job_spend(shell->job, WORD_COST))
		return;
	add_word(shell, node, out);
	(void)job_spend(shell->job, out->len - before);
}

/* {rm,-rf,/} is three words. */
static bool add_braced(struct shell *shell, const struct str *word, struct strv *words)
{
	const char *text = str_cstr(word), *at = text + 1, *end = text + word->len - 1;

	/* Braces within braces, or in what a variable holds, come to other words than these. */
	if (strchr(text, '{') && strchr(text, ','))
		shell->job->report->sets_names = true;
	if (word->len < 3 || text[0] != '{' || *end != '}' || !memchr(at, ',', (size_t)(end - at)))
		return false;
	while (at <= end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;

		strv_take(words, xstrndup(at, (size_t)(stop - at)));
		at = stop + 1;
	}
	return true;
}

void shell_split(struct shell *shell, const char *at, struct strv *words)
{
	char separators[SHELL_SEPARATORS_SIZE] = " \t\n";

	if (shell->has_separators)
		shell_separators(shell, separators);
	while (*at && job_spend(shell->job, WORD_COST)) {
		size_t len = strcspn(at, separators);

		if (len > 0)
			strv_take(words, xstrndup(at, len));
		at += len;
		at += strspn(at, separators);
	}
}

static bool is_quoted(const struct shell *shell, uint32_t node)
{
	uint32_t kind = shell->syntax->nodes[node].kind;

	return kind == NODE_STRING || kind == NODE_RAW_STRING || kind == NODE_ANSI_STRING;
}

/* x='a b': put together from texts that are all written there, so that nothing in it is split. */
static bool is_constant(const struct shell *shell, uint32_t node)
{
	const struct syntax *syntax = shell->syntax;
	bool has_text = false;

	if (syntax->nodes[node].kind != NODE_CONCATENATION)
		return false;
	for (uint32_t child = syntax_first(syntax, node); child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		if (!is_quoted(shell, child) && syntax->nodes[child].kind != NODE_WORD)
			return false;
		has_text = has_text || is_quoted(shell, child);
	}
	return has_text;
}

/* "${list[@]}" is as many words as the list has. */
static bool is_every_item(const struct shell *shell, uint32_t node)
{
	size_t len;
	const char *text = syntax_source(shell->syntax, node, &len);

	owned(free_ptr) char *word = xstrndup(text, len);
	const char *items = strstr(word, "[@]");

	if (strcmp(word, "\"$@\"") == 0)
		return true;
	return str_starts(word, "\"${") && items && items == strchr(word, '[') &&
	       (items[3] == '}' || items[3] == ':') && strcmp(word + len - 2, "}\"") == 0;
}

void shell_add_words(struct shell *shell, uint32_t node, struct strv *words)
{
	owned(str_done) struct str word = STR_INIT;
	uint32_t kind = shell->syntax->nodes[node].kind;
	uint32_t inner = kind == NODE_COMMAND_NAME ? syntax_first(shell->syntax, node) : node;

	shell_word_add(shell, node, &word);
	if (inner != SYNTAX_NONE && is_every_item(shell, inner))
		shell_split(shell, str_cstr(&word), words);
	else if (inner != SYNTAX_NONE && (is_quoted(shell, inner) || is_constant(shell, inner)))
		strv_add(words, str_cstr(&word));
	else if (!add_braced(shell, &word, words) && kind != NODE_WORD)
		shell_split(shell, str_cstr(&word), words);
	else if (kind == NODE_WORD &&
		 (word.len < 3 || str_cstr(&word)[0] != '{' || !strchr(str_cstr(&word), ',')))
		strv_add(words, str_cstr(&word));
}

void shell_words(struct shell *shell, uint32_t command, struct strv *ret_words)
{
	const struct syntax *syntax = shell->syntax;

	for (uint32_t child = syntax_first(syntax, command); child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		uint32_t kind = syntax->nodes[child].kind;

		if (kind != NODE_REDIRECT && kind != NODE_HERESTRING && kind != NODE_HEREDOC &&
		    kind != NODE_ASSIGNMENT)
			shell_add_words(shell, child, ret_words);
	}
}

/* Variables and substitutions stand in the body; everything else is as it is. */
static void add_body(struct shell *shell, uint32_t node, struct str *out)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t at = syntax->nodes[node].start;

	for (uint32_t child = syntax_first(syntax, node); child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		const struct syntax_node *it = &syntax->nodes[child];

		if ((it->kind != NODE_EXPANSION && it->kind != NODE_COMMAND_SUBSTITUTION) ||
		    it->start < at)
			continue;
		str_add_bytes(out, syntax->text + at, it->start - at);
		shell_word_add(shell, child, out);
		at = it->end;
	}
	str_add_bytes(out, syntax->text + at, syntax->nodes[node].end - at);
}

void shell_document(struct shell *shell, uint32_t node, struct str *out)
{
	const struct syntax *syntax = shell->syntax;
	bool is_string = syntax->nodes[node].kind == NODE_HERESTRING;

	for (uint32_t at = syntax_first(syntax, node); at != SYNTAX_NONE;
	     at = syntax_next(syntax, at)) {
		if (is_string)
			shell_word_add(shell, at, out);
		else if (syntax->nodes[at].kind == NODE_HEREDOC_BODY)
			add_body(shell, at, out);
	}
}

uint32_t shell_command_in(const struct shell *shell, uint32_t node)
{
	for (uint32_t at = node; at < shell->syntax->nodes[node].after; at++) {
		if (shell->syntax->nodes[at].kind == NODE_COMMAND)
			return at;
	}
	return SYNTAX_NONE;
}

typedef bool command_test(const char *name, const struct strv *words);

static bool any_command(struct shell *shell, uint32_t node, command_test *test)
{
	/* Asked for each of many that stand in each other: going through them counts, too. */
	for (uint32_t at = node; at < shell->syntax->nodes[node].after && job_spend(shell->job, 1);
	     at++) {
		owned(strv_done) struct strv words = STRV_INIT;
		size_t start;

		if (shell->syntax->nodes[at].kind != NODE_COMMAND || shell->depth >= DEPTH_MAX)
			continue;
		shell->depth++;
		shell_words(shell, at, &words);
		shell->depth--;
		start = command_start(&words);
		if (start < words.count && test(command_name(words.items[start]), &words))
			return true;
	}
	return false;
}

static bool does_fetch(const char *name, const struct strv *words)
{
	(void)words;
	return command_fetches(name);
}

bool shell_fetches(struct shell *shell, uint32_t node)
{
	return any_command(shell, node, does_fetch);
}

bool shell_decodes(struct shell *shell, uint32_t node)
{
	return any_command(shell, node, command_decodes);
}

static bool does_unpack(const char *name, const struct strv *words)
{
	return (str_starts(name, "base") || strcmp(name, "xxd") == 0 ||
		strcmp(name, "uudecode") == 0 || strcmp(name, "openssl") == 0) &&
	       command_decodes(name, words);
}

bool shell_unpacks(struct shell *shell, uint32_t node)
{
	return any_command(shell, node, does_unpack);
}
