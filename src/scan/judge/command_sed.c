/* SPDX-License-Identifier: Apache-2.0 */
/* sed: what its script starts. */
#include "base/core/own.h"
#include "scan/judge/command_rows.h"

#include <string.h>

/* Behind the text that AT opens with its delimiter; at the end of the script when it is not closed. */
static const char *pass_delimited(const char *at)
{
	char delimiter = *at;

	for (at += *at != '\0'; *at && *at != delimiter; at++)
		at += at[0] == '\\' && at[1];
	return at;
}

/* 1,$!  /x/,+3  0~4 */
static const char *pass_address(const char *at)
{
	while (*at && strchr(" \t\n;{}0123456789$,+~!I/\\", *at)) {
		/* \cREGEXc */
		bool is_other = at[0] == '\\' && at[1];

		at += is_other;
		if (is_other || *at == '/')
			at = pass_delimited(at);
		at += *at != '\0';
	}
	return at;
}

/* e, e COMMAND, s/x/y/e: the command that is run, "" for what passes through; NULL when there is none. */
static const char *run_by(const char *script)
{
	const char *at = pass_address(script);

	while (*at) {
		char name = *at++;

		if (name == 'e')
			return at + strspn(at, " \t");
		if (name == 's' || name == 'y') {
			at = pass_delimited(pass_delimited(at));
			at += *at != '\0';
		}
		if (name == 's' && memchr(at, 'e', strspn(at, "gpiImMe0123456789")))
			return "";
		at += strcspn(at, strchr("aicrRwW", name) ? "\n" : ";\n}");
		at = pass_address(at);
	}
	return NULL;
}

static void judge_script(const struct command *command, const char *script)
{
	const char *code = run_by(script);

	if (!code)
		return;
	command_find(command, RULE_EXEC, SEVERITY_MEDIUM);
	(void)job_nested(command->job, command->at, SCAN_SHELL, code, strcspn(code, "\n"));
}

/* Each that an option brings, else the first word that is none. */
static void judge_scripts(const struct command *command)
{
	const char *one, *first = NULL;
	bool has_option = false;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		const char *value = str_starts(one, "--expression=") ? strchr(one, '=') + 1 : NULL;
		size_t len = strlen(one);

		/* -ne SCRIPT; -n -e SCRIPT */
		if (one[0] == '-' && one[1] != '-' && len > 1 && one[len - 1] == 'e')
			value = command_word(command, ++i);
		if (value)
			judge_script(command, value);
		has_option = has_option || value;
		if (!first && one[0] != '-')
			first = one;
	}
	if (!has_option && first)
		judge_script(command, first);
}

/* Whether a script leaves nothing of any file: all lines deleted, or each of them emptied. */
static bool is_emptying(const char *script)
{
	static const char *const scripts[] = { "d",	   "1,$d",     "0,$d",	   "$!d;d",
					       "1d;$!d;d", "Q",	       "1Q",	   "s/.*//",
					       "s/.*//g",  "s/^.*$//", "s/^.*$//g" };

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		if (strcmp(script, scripts[i]) == 0)
			return true;
	}
	return false;
}

/* What is emptied in place: one file that is named is the script's own affair. */
static void judge_emptied(const struct command *command)
{
	bool is_many = command_is_fed(command), is_empty = false;
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		is_empty = is_empty || is_emptying(one);
		is_many = is_many || (one[0] != '-' && !is_emptying(one) && strpbrk(one, "*\x01{"));
	}
	if (is_empty)
		command_find(command, RULE_DELETE, is_many ? SEVERITY_MEDIUM : SEVERITY_LOW);
}

void command_judge_sed(const struct command *command)
{
	const char *last = NULL, *one;

	for (size_t i = 0; (one = command_word(command, i)); i++)
		last = one;
	if (command_has_letter(command, 'i') || command_has(command, "--in-place"))
		judge_emptied(command);
	command_judge_readers(command);
	judge_scripts(command);
	if (last && (command_has_letter(command, 'i') || command_has(command, "--in-place")))
		judge_target(command->job, command->at, last);
}
