/* SPDX-License-Identifier: Apache-2.0 */
/* Commands by the rules of tools.tsv: which rows hold for the words of one, and what follows. */
#include "scan/judge/command_rows.h"

#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "scan/follow/fold.h"
#include "scan/judge/sql.h"
#include "scan/judge/tool_table.h"

#include <string.h>

/* No term of the table is longer. */
#define TERM_SIZE 64u
/* The term that is met where operands come from elsewhere. */
#define FED "@fed"

/* Whether the term is one letter of an option, which may stand among others. */
static bool is_letter(const char *term)
{
	return term[0] == '-' && term[1] && term[1] != '-' && !term[2];
}

static bool word_meets(const char *word, const char *term)
{
	if (is_letter(term))
		return word[0] == '-' && word[1] != '-' && strchr(word + 1, term[1]);
	return wildcard_matches(term, word, WILDCARD_PLAIN);
}

/* Whether WORD meets one of the alternatives of LEN bytes; the one it meets is left in TERM. */
static bool word_meets_any(const char *word, const char *alternatives, size_t len,
			   char term[static TERM_SIZE])
{
	const char *end = alternatives + len;

	while (alternatives < end) {
		size_t one = strcspn(alternatives, "| ");

		if (one < TERM_SIZE) {
			memcpy(term, alternatives, one);
			term[one] = '\0';
			if (word_meets(word, term))
				return true;
		}
		alternatives += one + 1;
	}
	return false;
}

/* The position, from FROM on, of the first word that meets TERMS; -1 when there is none. */
static int find_met(const struct command *command, size_t from, const char *terms,
		    char term[static TERM_SIZE])
{
	size_t len = strcspn(terms, " ");
	const char *word;

	if (len == strlen(FED) && strncmp(terms, FED, len) == 0)
		return command_is_fed(command) ? 0 : -1;
	for (size_t i = from; (word = command_word(command, i)); i++) {
		if (word_meets_any(word, terms, len, term))
			return (int)i;
	}
	return -1;
}

/* The last of a row's words that must be there: it is the one whose value the row is about. */
static const char *last_terms(const char *words)
{
	const char *last = words;

	for (const char *at = words; *at;
	     at += at[strcspn(at, " ")] ? strcspn(at, " ") + 1 : strlen(at)) {
		if (*at != '!')
			last = at;
	}
	return last;
}

static bool row_holds(const struct command *command, const struct tool_row *row)
{
	char term[TERM_SIZE];
	const char *at = row->words;

	if (strcmp(row->tool, command->name) != 0)
		return false;
	while (*at && strcmp(at, "*") != 0) {
		bool is_denied = *at == '!';

		if ((find_met(command, 0, at + is_denied, term) >= 0) == is_denied)
			return false;
		at += strcspn(at, " ");
		at += *at == ' ';
	}
	return true;
}

static enum scan_severity worse(enum scan_severity one, enum scan_severity other)
{
	return one > other ? one : other;
}

static void judge_destroyed(const struct command *command, const struct tool_row *row,
			    const char *target)
{
	/* A place that is not known is what most scripts hand to such a tool. */
	if (target)
		job_find(command->job, command->at, row->rule,
			 target[0] == FOLD_GAP
				 ? row->severity
				 : worse(row->severity, command_removal(target, true)),
			 target);
}

static void judge_operands(const struct command *command, const struct tool_row *row)
{
	const char *one, *last = NULL;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (one[0] == '-')
			continue;
		last = one;
		if (row->effect == TOOL_OPERANDS)
			judge_destroyed(command, row, one);
	}
	if (row->effect == TOOL_LAST)
		judge_destroyed(command, row, last);
	else if (!last)
		command_find(command, row->rule, row->severity);
}

/* A place that is written: of everything as a whole, only what is unpacked or mirrored over it is grave. */
static void judge_written(const struct command *command, const struct tool_row *row,
			  const char *place)
{
	judge_target(command->job, command->at, place);
	if (place_of(place) == PLACE_EVERYTHING && place[0] != '.')
		job_find(command->job, command->at, row->rule, row->severity, place);
}

static void judge_writes(const struct command *command, const struct tool_row *row)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (one[0] != '-' && one[0] != '+')
			judge_written(command, row, one);
	}
}

/* After the option that a shell text follows; NULL when there is none. */
static const char *behind_mark(const char *text)
{
	static const char *const marks[] = { "shell ",
					     ":!",
					     "!",
					     "\\!",
					     "ProxyCommand=",
					     "LocalCommand=",
					     "ProxyCommand ",
					     "KnownHostsCommand=" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (str_starts(text, marks[i]))
			return text + strlen(marks[i]);
	}
	return NULL;
}

static void judge_value(const struct command *command, const struct tool_row *row,
			const char *value)
{
	const char *code = row->effect == TOOL_MARKED ? behind_mark(value) : value;

	if (row->effect == TOOL_VALUE)
		judge_written(command, row, value);
	else if (row->effect == TOOL_CODE)
		command_judge_unread(command, value);
	else if (code) {
		(void)job_nested(command->job, command->at, SCAN_SHELL, code, strlen(code));
		command_find(command, row->rule, row->severity);
	}
}

/* --option=VALUE, --option VALUE, -oVALUE, -xo VALUE. */
static const char *value_of(const struct command *command, size_t position, const char *term)
{
	const char *word = command_word(command, position), *equals = strchr(word, '=');

	if (str_starts(word, "--") && equals)
		return equals + 1;
	if (is_letter(term) && word[1] == term[1] && word[2])
		return word + 2;
	return command_word(command, position + 1);
}

static void judge_values(const struct command *command, const struct tool_row *row)
{
	const char *terms = last_terms(row->words);
	char term[TERM_SIZE];
	int at = find_met(command, 0, terms, term);

	while (at >= 0) {
		const char *value = value_of(command, (size_t)at, term);

		if (value)
			judge_value(command, row, value);
		at = find_met(command, (size_t)at + 1, terms, term);
	}
}

static void judge_texts(const struct command *command, const struct tool_row *row)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (strpbrk(one, " ;|&"))
			(void)job_nested(command->job, command->at, SCAN_SHELL, one, strlen(one));
	}
	command_find(command, row->rule, row->severity);
}

static void judge_behind(const struct command *command, const struct tool_row *row)
{
	owned(strv_done) struct strv inner = STRV_INIT;
	char term[TERM_SIZE];
	int at = find_met(command, 0, last_terms(row->words), term);
	const char *one;

	for (size_t i = (size_t)at + 1; at >= 0 && (one = command_word(command, i)); i++)
		strv_add(&inner, one);
	if (inner.count > 0)
		judge_command(command->job, command->at, &inner);
}

static void judge_named(const struct command *command, const struct tool_row *row)
{
	char term[TERM_SIZE];
	int at = find_met(command, 0, last_terms(row->words), term);
	bool is_plain = false, is_other = command_is_fed(command);
	const char *one;

	for (size_t i = (size_t)at + 1; at >= 0 && (one = command_word(command, i)); i++) {
		is_plain |= one[0] != '-' && place_is_output(one);
		is_other |= one[0] != '-' && !place_is_output(one);
	}
	command_find(command, row->rule, is_plain && !is_other ? SEVERITY_LOW : row->severity);
}

/* An address in front of what is no option is where it comes from. */
static void judge_sends(const struct command *command, const struct tool_row *row)
{
	enum scan_severity severity = SEVERITY_LOW;
	const char *one, *before = "";
	bool is_download = false;

	for (size_t i = 0; (one = command_word(command, i)); before = one, i++) {
		bool is_address = strstr(one, "://");

		/* --exclude '*' */
		if (one[0] == '-' || (one[0] == '*' && before[0] == '-'))
			continue;
		is_download = is_download ? !is_address : strstr(before, "://") && !is_address;
		if (!is_address)
			severity = worse(severity, command_leaves(one));
	}
	command->job->traits |= TRAIT_NETWORK | TRAIT_SENDS;
	command_find(command, row->rule, is_download ? SEVERITY_LOW : severity);
}

static void judge_sql(const struct command *command, const struct tool_row *row)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		/* --command=TEXT */
		const char *text =
			str_starts(one, "--") && strchr(one, '=') ? strchr(one, '=') + 1 : one;

		if (sql_severity(text) > SEVERITY_NONE)
			job_find(command->job, command->at, row->rule,
				 worse(row->severity, sql_severity(text)), text);
	}
}

static void judge_is(const struct command *command, const struct tool_row *row)
{
	command_find(command, row->rule, row->severity);
}

void command_judge_tools(const struct command *command)
{
	static void (*const judges[])(const struct command *, const struct tool_row *) = {
		[TOOL_IS] = judge_is,	      [TOOL_OPERANDS] = judge_operands,
		[TOOL_LAST] = judge_operands, [TOOL_WRITES] = judge_writes,
		[TOOL_VALUE] = judge_values,  [TOOL_SHELL] = judge_values,
		[TOOL_MARKED] = judge_values, [TOOL_CODE] = judge_values,
		[TOOL_TEXTS] = judge_texts,   [TOOL_BEHIND] = judge_behind,
		[TOOL_NAMED] = judge_named,   [TOOL_SENDS] = judge_sends,
		[TOOL_SQL] = judge_sql,
	};

	for (const struct tool_row *row = tool_rows; row->tool; row++) {
		if (row->tool[0] == command->name[0] && row_holds(command, row))
			judges[row->effect](command, row);
	}
}

bool command_tool_is(const char *pattern)
{
	for (const struct tool_row *row = tool_rows; row->tool; row++) {
		if (wildcard_matches(pattern, row->tool, 0))
			return true;
	}
	return false;
}
