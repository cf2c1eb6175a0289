/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are about something else and can also start programs: awk, tar, trap, editors, git. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command_rows.h"

#include <string.h>

/* The text between the quotes at QUOTE, without its escapes; NULL when it has no end. */
static char *quoted(const char *quote)
{
	struct str out = STR_INIT;
	const char *at = quote + 1;

	for (; *at && *at != '"'; at++) {
		at += at[0] == '\\' && at[1];
		str_add_char(&out, *at);
	}
	if (*at)
		return str_detach(&out);
	str_done(&out);
	return NULL;
}

/* print > "FILE" writes it. */
static void judge_printed(const struct command *command, const char *quote)
{
	owned(free_ptr) char *path = quoted(quote);

	if (path)
		judge_target(command->job, command->at, path);
}

static void judge_text(const struct command *command, const char *quote)
{
	owned(free_ptr) char *text = quoted(quote);

	if (text)
		(void)job_nested(command->job, command->at, SCAN_SHELL, text, strlen(text));
}

/* print | "sh" runs what is printed; print | "sort" does not. */
static void judge_piped(const struct command *command, const char *quote)
{
	owned(free_ptr) char *text = quoted(quote);

	if (text)
		text[strcspn(text, " ")] = '\0';
	if (text && command_is_interpreter(command_name(text)))
		command_find(command, RULE_EXEC, SEVERITY_MEDIUM);
	judge_text(command, quote);
}

/* system("..."), print | "...", /inet/tcp/... */
void command_judge_awk(const struct command *command)
{
	const char *one, *at;

	command_judge_readers(command);
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		for (at = one; (at = strstr(at, "system(")); at++) {
			command_find(command, RULE_EXEC, SEVERITY_MEDIUM);
			if (at[strlen("system(")] == '"')
				judge_text(command, at + strlen("system("));
		}
		for (at = one; (at = strstr(at, "| \"")); at++)
			judge_piped(command, at + 2);
		for (at = one; (at = strstr(at, "> \"")); at++)
			judge_printed(command, at + 2);
		if (strstr(one, "/inet/tcp") || strstr(one, "/inet/udp"))
			command_find(command, RULE_REVERSE_SHELL, SEVERITY_CRITICAL);
	}
}

void command_judge_tar(const struct command *command)
{
	static const char *const options[] = { "--checkpoint-action=exec=", "--to-command=",
					       "--use-compress-program=" };
	const char *one;

	command_judge_readers(command);
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		for (size_t n = 0; n < sizeof(options) / sizeof(options[0]); n++) {
			const char *code = one + strlen(options[n]);

			if (!str_starts(one, options[n]))
				continue;
			if (n == 0)
				command_find(command, RULE_EXEC, SEVERITY_HIGH);
			(void)job_nested(command->job, command->at, SCAN_SHELL, code, strlen(code));
		}
	}
}

/* trap 'commands' SIGNAL: run later; with DEBUG at every command. */
void command_judge_trap(const struct command *command)
{
	const char *text = command_word(command, 0), *one;

	if (!text || text[0] == '-')
		return;
	(void)job_nested(command->job, command->at, SCAN_SHELL, text, strlen(text));
	for (size_t i = 1; (one = command_word(command, i)); i++) {
		if (strcmp(one, "DEBUG") == 0)
			command_find(command, RULE_SPY, SEVERITY_MEDIUM);
	}
}

/* vim -c ':!command' */
void command_judge_editor(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		const char *code = strchr(one, '!');

		if (!code || (one[0] != ':' && one[0] != '!' && one[0] != '+'))
			continue;
		command_find(command, RULE_EXEC, SEVERITY_MEDIUM);
		(void)job_nested(command->job, command->at, SCAN_SHELL, code + 1, strlen(code + 1));
	}
}

void command_judge_git(const struct command *command)
{
	const char *one = command_word(command, 0);

	if (one && strcmp(one, "push") == 0)
		command_find(command, RULE_SEND, SEVERITY_LOW);
	/* alias.x='!command', as one word or as two. */
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		const char *code = one[0] == '!' ? one : strstr(one, "=!");

		if (code)
			(void)job_nested(command->job, command->at, SCAN_SHELL,
					 code + 1 + (code != one),
					 strlen(code + 1 + (code != one)));
		if (in_list_bytes(
			    "core.sshCommand core.fsmonitor core.hooksPath core.pager core.editor "
			    "diff.external",
			    one, strcspn(one, "=")) &&
		    strchr(one, '='))
			command_find(command, RULE_PERSISTENCE, SEVERITY_MEDIUM);
	}
	one = command_word(command, 0);
	if (one && strcmp(one, "config") == 0 &&
	    (command_has(command, "core.hooksPath") || command_has(command, "core.fsmonitor") ||
	     command_has(command, "core.sshCommand")))
		command_find(command, RULE_PERSISTENCE, SEVERITY_HIGH);
}

void command_judge_alias(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		const char *value = strchr(one, '=');

		if (value && value[1])
			(void)job_nested(command->job, command->at, SCAN_SHELL, value + 1,
					 strlen(value + 1));
		if (str_starts(one, "sudo=") || str_starts(one, "su=") || str_starts(one, "ssh="))
			command_find(command, RULE_PERSISTENCE, SEVERITY_HIGH);
	}
}
