/* SPDX-License-Identifier: Apache-2.0 */
/* Shell texts: what one command hands to the next. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "scan/shell/shell_word.h"

#include <string.h>

static uint32_t start_of(const struct shell *shell, uint32_t node)
{
	return shell->syntax->nodes[node].start;
}

enum scan_language shell_reads_as(const struct strv *words)
{
	size_t start = command_start(words);

	if (start >= words->count || !command_reads_code(words))
		return SCAN_UNKNOWN;
	if (in_list(". source ssh", words->items[start]))
		return SCAN_SHELL;
	return scan_language_of_program(words->items[start]);
}

/* What comes before STAGE of a pipe, as far as it matters to an interpreter there. */
static void judge_fed(struct shell *shell, uint32_t pipeline, uint32_t stage,
		      enum scan_language language)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t at = start_of(shell, pipeline), first = syntax_first(syntax, pipeline);
	owned(str_done) struct str text = STR_INIT;
	bool fetches = false, decodes = false;

	for (uint32_t child = first; child != stage && child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		fetches = fetches || shell_fetches(shell, child);
		decodes = decodes || shell_decodes(shell, child);
	}
	if (fetches) {
		job_find(shell->job, at, RULE_PIPE, SEVERITY_CRITICAL, NULL);
	} else if (shell_output(shell, first, stage, &text) && language != SCAN_UNKNOWN) {
		(void)job_nested(shell->job, at, language, str_cstr(&text), text.len);
		job_find(shell->job, at, RULE_PIPE, decodes ? SEVERITY_HIGH : SEVERITY_LOW, NULL);
	} else {
		job_find(shell->job, at, RULE_PIPE, decodes ? SEVERITY_HIGH : SEVERITY_MEDIUM,
			 NULL);
	}
}

/*
 * Where the first stage of a pipe looks for the files that it lists: all of them stand for each. NULL when it lists none, or
 * only those of a plain directory.
 */
static char *listed_place(struct shell *shell, uint32_t first)
{
	owned(strv_done) struct strv words = STRV_INIT;
	uint32_t command = shell_command_in(shell, first);
	size_t start;

	if (command != SYNTAX_NONE)
		shell_words(shell, command, &words);
	start = command_start(&words);
	if (start >= words.count ||
	    !in_list("find ls fd fdfind locate tree", command_name(words.items[start])))
		return NULL;
	for (size_t i = start + 1; i < words.count; i++) {
		enum place_kind place = place_of(words.items[i]);

		if ((place != PLACE_PLAIN && place != PLACE_TEMPORARY) ||
		    place_is_home(words.items[i]))
			return xstrdup(words.items[i]);
	}
	return NULL;
}

/* What comes into a stage, one word or line after the other, as far as that is certain. */
static bool read_handed(struct shell *shell, uint32_t first, uint32_t stage, struct str *out)
{
	owned(free_ptr) char *place = listed_place(shell, first);

	if (!place)
		return shell_output(shell, first, stage, out);
	str_add(out, place);
	return true;
}

/* xargs -I{} sh -c 'rm "{}"': WORD with TEXT where its mark is. */
static void add_marked(const char *word, const char *mark, const char *text, struct strv *out)
{
	const char *at = mark && *mark ? strstr(word, mark) : NULL;
	owned(free_ptr) char *whole =
		at ? xasprintf("%.*s%s%s", (int)(at - word), word, text, at + strlen(mark))
		   : xstrdup(word);

	strv_add(out, whole);
}

/* echo /home | xargs rm -rf: what comes in stands behind the command, or where its mark is. */
static void judge_handed(struct shell *shell, uint32_t first, uint32_t stage,
			 const struct strv *words)
{
	owned(str_done) struct str text = STR_INIT;
	owned(strv_done) struct strv whole = STRV_INIT;
	size_t start = command_start(words);
	const char *mark = NULL;
	bool has_mark = false;

	if (strcmp(command_name(words->items[0]), "xargs") != 0 || start == 0 ||
	    start >= words->count || !read_handed(shell, first, stage, &text))
		return;
	for (size_t i = 1; i < start; i++) {
		if (str_starts(words->items[i], "-I"))
			mark = words->items[i][2] ? words->items[i] + 2 : words->items[i + 1];
	}
	for (size_t i = start; i < words->count; i++) {
		bool is_mark = mark && strcmp(words->items[i], mark) == 0;

		has_mark = has_mark || is_mark;
		if (is_mark)
			shell_split(shell, str_cstr(&text), &whole);
		else
			add_marked(words->items[i], mark, str_cstr(&text), &whole);
	}
	if (!has_mark)
		shell_split(shell, str_cstr(&text), &whole);
	judge_command(shell->job, start_of(shell, stage), &whole);
}

/* while read -r line; do $line; done: each line that comes in is a command. */
static bool runs_what_it_reads(struct shell *shell, uint32_t stage, const struct strv *words)
{
	const struct syntax *syntax = shell->syntax;

	if (words->count < 2 || strcmp(words->items[0], "read") != 0)
		return false;
	for (uint32_t at = stage; at < syntax->nodes[stage].after; at++) {
		size_t len;
		const char *text = syntax_source(syntax, at, &len);
		owned(free_ptr) char *name = NULL;
		char *start;

		if (syntax->nodes[at].kind != NODE_COMMAND_NAME || !memchr(text, '$', len))
			continue;
		name = xstrndup(text, len);
		start = name + strcspn(name, "$");
		start += strspn(start, "${");
		start[strcspn(start, "}\"")] = '\0';
		if (strv_has(words, start))
			return true;
	}
	return false;
}

static bool carries_away(const struct strv *words)
{
	size_t start = command_start(words);
	const char *name = start < words->count ? command_name(words->items[start]) : "";

	if (strcmp(name, "curl") == 0)
		return strv_has(words, "-T") || strv_has(words, "@-") || strv_has(words, "-d") ||
		       strv_has(words, "--data-binary") || strv_has(words, "-F");
	if (strcmp(name, "openssl") == 0)
		return strv_has(words, "s_client");
	return in_list("nc ncat netcat socat ssh telnet", name);
}

/* curl ... | tee FILE: the file is what came. */
static void note_copies(struct shell *shell, uint32_t first, uint32_t stage,
			const struct strv *words)
{
	size_t start = command_start(words);
	bool fetches = false;

	if (start >= words->count || strcmp(command_name(words->items[start]), "tee") != 0)
		return;
	for (uint32_t at = first; at != stage && at != SYNTAX_NONE;
	     at = syntax_next(shell->syntax, at))
		fetches = fetches || shell_fetches(shell, at);
	for (size_t i = start + 1;
	     fetches && i < words->count && shell->fetched.count < SHELL_FETCHED_MAX; i++)
		strv_add(&shell->fetched, command_name(words->items[i]));
}

/* find ~ | while read -r x: each time, x is one of the files there. */
static void read_listed(struct shell *shell, uint32_t first, const struct strv *words)
{
	owned(free_ptr) char *place = listed_place(shell, first);

	if (place)
		shell_read(shell, words, place);
}

void shell_judge_pipeline(struct shell *shell, uint32_t node)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t first = syntax_first(syntax, node);

	for (uint32_t stage = first; stage != SYNTAX_NONE; stage = syntax_next(syntax, stage)) {
		owned(strv_done) struct strv words = STRV_INIT;
		uint32_t command = shell_command_in(shell, stage);

		if (stage == first || command == SYNTAX_NONE)
			continue;
		shell_words(shell, command, &words);
		if (command_reads_code(&words) || runs_what_it_reads(shell, stage, &words))
			judge_fed(shell, node, stage, shell_reads_as(&words));
		if (words.count > 0)
			judge_handed(shell, first, stage, &words);
		note_copies(shell, first, stage, &words);
		read_listed(shell, first, &words);
		if (carries_away(&words))
			job_find(shell->job, start_of(shell, node), RULE_SEND, SEVERITY_HIGH, NULL);
	}
}
