/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are about something else and can also start programs: awk, tar, trap, editors, git; what sudo starts. */
#include "base/core/own.h"
#include "scan/follow/fold.h"
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

/* Whether each word behind START has nothing in it but a name: no place, no address, nothing unknown. */
static bool are_names(const struct strv *words, size_t start, const char *options)
{
	for (size_t i = start + 1; i < words->count; i++) {
		const char *one = words->items[i];

		if (one[0] == '-' ? !in_list(options, one) : strpbrk(one, "/:*\x01") != NULL)
			return false;
	}
	return true;
}

/* Logs and settings, and no other place, are read. */
static bool reads_settings(const struct strv *words, size_t start)
{
	for (size_t i = start + 1; i < words->count; i++) {
		const char *one = words->items[i];

		if (strchr(one, FOLD_GAP) || strstr(one, "..") ||
		    (strchr(one, '/') && !str_starts(one, "/var/log/") &&
		     !str_starts(one, "/etc/") && !str_starts(one, "/proc/")))
			return false;
	}
	return true;
}

/* What people need rights for every day: packages and services by name, a look around. */
bool command_is_administration(const struct strv *words, size_t start)
{
	const char *program = command_name(words->items[start]);
	const char *verb = start + 1 < words->count ? words->items[start + 1] : "";

	verb = verb[0] == '-' && start + 2 < words->count ? words->items[start + 2] : verb;
	if (in_list("apt apt-get aptitude dnf yum zypper apk snap", program))
		return in_list("update upgrade install add refresh list search show info", verb) &&
		       are_names(words, start,
				 "-y --yes -q -qq --quiet -U --assume-yes --no-cache "
				 "--no-install-recommends");
	if (in_list("systemctl service docker podman", program))
		return are_names(words, start, "--no-pager -a -f -q --now") &&
		       !in_list("run exec cp load import stop", verb) &&
		       !in_list("stop", words->items[words->count - 1]);
	if (in_list("cat head tail grep less journalctl", program))
		return reads_settings(words, start);
	/* What of these is grave has rules of its own. */
	return in_list("ls du df stat lsblk blkid fdisk parted lsof ss netstat dmesg dmidecode "
		       "lshw lspci lsusb smartctl hdparm ufw iptables nft modinfo true whoami id",
		       program);
}
