/* SPDX-License-Identifier: Apache-2.0 */
/* Commands the scanner knows, and what their words make of them. */
#include "scan/judge/command_rows.h"

#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "scan/follow/in_list.h"
#include "scan/follow/fold.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void command_find(const struct command *command, enum scan_rule rule, enum scan_severity severity)
{
	job_find(command->job, command->at, rule, severity, command->name);
}

const char *command_word(const struct command *command, size_t position)
{
	size_t at = command->start + 1 + position;

	return at < command->words->count ? command->words->items[at] : NULL;
}

bool command_has(const struct command *command, const char *option)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (strcmp(one, option) == 0)
			return true;
	}
	return false;
}

bool command_has_letter(const struct command *command, char letter)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (one[0] == '-' && one[1] != '-' && strchr(one, letter))
			return true;
	}
	return false;
}

enum scan_severity command_removal(const char *target, bool is_recursive)
{
	switch (place_of(target)) {
	case PLACE_EVERYTHING:
		return is_recursive ? SEVERITY_CRITICAL : SEVERITY_MEDIUM;
	case PLACE_SYSTEM:
	case PLACE_SECRET:
	case PLACE_START:
	case PLACE_ACCOUNTS:
	case PLACE_DISK:
		return is_recursive ? SEVERITY_CRITICAL : SEVERITY_HIGH;
	case PLACE_TEMPORARY:
		return SEVERITY_LOW;
	case PLACE_PLAIN:
		break;
	}
	/* Everything in a directory of a home, one by one. */
	is_recursive = is_recursive || str_ends(target, "/*");
	if (is_recursive &&
	    (strcmp(target, "*") == 0 || strcmp(target, ".") == 0 || strcmp(target, "./*") == 0 ||
	     strcmp(target, "./") == 0 || place_is_home(target)))
		return SEVERITY_MEDIUM;
	/* $DIR/ with nothing in DIR is the root. */
	if (is_recursive && target[0] == FOLD_GAP &&
	    (strcmp(target + 1, "/*") == 0 || strcmp(target + 1, "/") == 0))
		return SEVERITY_MEDIUM;
	return SEVERITY_LOW;
}

static void judge_rm(const struct command *command)
{
	bool is_recursive = command_has_letter(command, 'r') || command_has_letter(command, 'R') ||
			    command_has(command, "--recursive");
	bool has_target = false;
	const char *one;

	if (command_has(command, "--no-preserve-root"))
		command_find(command, RULE_DELETE, SEVERITY_CRITICAL);
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (one[0] == '-')
			continue;
		has_target = true;
		job_find(command->job, command->at, RULE_DELETE, command_removal(one, is_recursive),
			 one);
	}
	/* Behind xargs, what is deleted comes from elsewhere. */
	if (!has_target && is_recursive)
		command_find(command, RULE_DELETE, SEVERITY_MEDIUM);
}

static void judge_dd(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (str_starts(one, "of="))
			judge_target(command->job, command->at, one + 3);
	}
}

static bool has_exec(const struct command *command)
{
	return command_has(command, "-exec") || command_has(command, "-execdir") ||
	       command_has(command, "-ok");
}

static void judge_find(const struct command *command)
{
	const char *first = command_word(command, 0);
	enum place_kind place = first && first[0] != '-' ? place_of(first) : PLACE_PLAIN;

	if (command_has(command, "-delete") ||
	    (has_exec(command) && (command_has(command, "rm") || command_has(command, "shred"))))
		command_find(command, RULE_DELETE,
			     place == PLACE_PLAIN || place == PLACE_TEMPORARY ? SEVERITY_LOW
									      : SEVERITY_CRITICAL);
	if (command_has(command, "-perm") && place == PLACE_EVERYTHING &&
	    (command_has(command, "-4000") || command_has(command, "-u=s") ||
	     command_has(command, "/4000") || command_has(command, "-u+s")))
		command_find(command, RULE_PRIVILEGE, SEVERITY_MEDIUM);
	if (command_has(command, "-name") && place == PLACE_EVERYTHING &&
	    (command_has(command, "id_rsa") || command_has(command, "*.pem") ||
	     command_has(command, "id_rsa*") || command_has(command, "*.key")))
		command_find(command, RULE_SECRET_READ, SEVERITY_HIGH);
}

static bool is_mode(const char *text)
{
	return text[0] && strspn(text, "01234567") == strlen(text) && strlen(text) >= 3;
}

static void judge_chmod(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		unsigned long mode = is_mode(one) ? strtoul(one, NULL, 8) : 0;

		if ((mode & 06000) || strstr(one, "+s"))
			command_find(command, RULE_PRIVILEGE, SEVERITY_HIGH);
		else if ((mode & 02) || strcmp(one, "a+w") == 0 || strcmp(one, "o+w") == 0 ||
			 strcmp(one, "a+rwx") == 0 || strcmp(one, "ugo+rwx") == 0)
			command_find(command, RULE_PRIVILEGE, SEVERITY_MEDIUM);
		else if (one[0] == '/' && place_of(one) != PLACE_TEMPORARY &&
			 place_of(one) != PLACE_PLAIN)
			command_find(command, RULE_PRIVILEGE, SEVERITY_MEDIUM);
	}
}

static void judge_owner(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (str_starts(one, "root") || (one[0] == '/' && place_of(one) != PLACE_TEMPORARY))
			command_find(command, RULE_PRIVILEGE, SEVERITY_MEDIUM);
	}
}

void command_judge_readers(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		enum place_kind place = place_of(one);

		if (place == PLACE_EVERYTHING || place_is_home(one))
			command->job->traits |= TRAIT_PRIVATE;
		if (place == PLACE_SECRET || place == PLACE_ACCOUNTS) {
			command->job->traits |= TRAIT_SECRET;
			job_find(command->job, command->at, RULE_SECRET_READ,
				 place == PLACE_SECRET ? SEVERITY_HIGH : SEVERITY_MEDIUM, one);
		}
	}
}

/* The last word is what is written. */
static void judge_writers(const struct command *command)
{
	const char *last = NULL, *one, *first = NULL;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (one[0] == '-')
			continue;
		first = first ? first : one;
		last = one;
	}
	command_judge_readers(command);
	if (!last)
		return;
	judge_target(command->job, command->at, last);
	if (strcmp(command->name, "mv") == 0 &&
	    (place_of(first) == PLACE_EVERYTHING || strcmp(last, "/dev/null") == 0))
		command_find(command, RULE_DELETE, SEVERITY_CRITICAL);
	if (strcmp(command->name, "ln") == 0 && strcmp(first, "/dev/null") == 0 &&
	    strstr(last, "history"))
		command_find(command, RULE_OBFUSCATION, SEVERITY_MEDIUM);
}

static void judge_crontab(const struct command *command)
{
	command_find(command, RULE_PERSISTENCE,
		     command_has(command, "-l") ? SEVERITY_LOW : SEVERITY_HIGH);
}

/* Units by their names, none of them a state of the machine or a shell for everybody. */
static bool names_services(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (strpbrk(one, "/*?[\x01") || str_ends(one, ".target") ||
		    str_starts(one, "debug-shell"))
			return false;
	}
	return true;
}

static void judge_systemctl(const struct command *command)
{
	if (command_has(command, "enable") || command_has(command, "link"))
		command_find(command, RULE_PERSISTENCE, SEVERITY_HIGH);
	else if (command_has(command, "stop") || command_has(command, "disable") ||
		 command_has(command, "mask"))
		command_find(command, RULE_PRIVILEGE, SEVERITY_HIGH);
	else if (command_has(command, "start") || command_has(command, "restart"))
		command_find(command, RULE_PRIVILEGE,
			     names_services(command) ? SEVERITY_LOW : SEVERITY_MEDIUM);
}

static void judge_docker(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (strcmp(one, "--privileged") == 0 || str_starts(one, "/:") ||
		    strstr(one, "docker.sock") || strcmp(one, "--pid=host") == 0 ||
		    str_starts(one, "--volume=/:"))
			command_find(command, RULE_PRIVILEGE, SEVERITY_HIGH);
	}
}

static void judge_kill(const struct command *command)
{
	const char *last = command->words->items[command->words->count - 1];

	/* kill -1 PID is a signal; -1 in the place of a process means all processes. */
	if (command_word(command, 1) && strcmp(last, "-1") == 0)
		command_find(command, RULE_EXHAUSTION, SEVERITY_HIGH);
	else if (command_word(command, 0) && strcmp(command->name, "kill") != 0)
		command_find(command, RULE_EXHAUSTION, SEVERITY_LOW);
}

static void judge_history(const struct command *command)
{
	if (command_has(command, "-c") || command_has(command, "-cw") ||
	    command_has(command, "-wc"))
		command_find(command, RULE_OBFUSCATION, SEVERITY_MEDIUM);
}

static void judge_unset(const struct command *command)
{
	if (command_has(command, "HISTFILE"))
		command_find(command, RULE_OBFUSCATION, SEVERITY_MEDIUM);
}

static void judge_eval(const struct command *command)
{
	owned(str_done) struct str text = STR_INIT;
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++)
		str_addf(&text, "%s%s", i ? " " : "", one);
	if (text.len > 0)
		(void)job_nested(command->job, command->at, SCAN_SHELL, str_cstr(&text), text.len);
	/* eval set -- "$words": options in the order that getopt gives them. */
	command_find(command, RULE_EXEC,
		     strcmp(str_cstr(&text), "set -- \x01") == 0 ? SEVERITY_LOW : SEVERITY_MEDIUM);
}

static void judge_names(const struct command *command)
{
	enum scan_severity severity = SEVERITY_LOW;
	const char *one;

	/* A name to be resolved that is made from data carries it away. */
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		const char *gap = strchr(one, FOLD_GAP);

		if (gap && one[0] != '-' && one[0] != '+' && strchr(gap, '.'))
			severity = SEVERITY_MEDIUM;
	}
	command_find(command, RULE_NETWORK, severity);
}

struct command_row {
	const char *names; /* with blanks between them */
	void (*judge)(const struct command *command);
};

static const struct command_row rows[] = {
	{ "rm rmdir unlink", judge_rm },
	{ "dd", judge_dd },
	{ "find", judge_find },
	{ "chmod", judge_chmod },
	{ "chown", judge_owner },
	{ "curl wget", command_judge_fetch },
	{ "pip pip3 npm yarn gem", command_judge_packages },
	{ "nc ncat netcat socat", command_judge_netcat },
	{ "scp rsync", command_judge_copy_away },
	{ "cat less more head tail grep zip base64 "
	  "xxd strings cut ls sort gpg openssl od sqlite3",
	  command_judge_readers },
	{ "awk gawk mawk nawk", command_judge_awk },
	{ "tar", command_judge_tar },
	{ "trap", command_judge_trap },
	{ "vim vi nvim", command_judge_editor },
	{ "cp mv ln install tee touch truncate", judge_writers },
	{ "sed", command_judge_sed },
	{ "crontab", judge_crontab },
	{ "systemctl", judge_systemctl },
	{ "docker podman", judge_docker },
	{ "kill killall pkill", judge_kill },
	{ "history", judge_history },
	{ "unset", judge_unset },
	{ "eval", judge_eval },
	{ "dig nslookup host drill delv kdig ping ping6 getent resolvectl", judge_names },
	{ "ssh", command_judge_remote },
	{ "git", command_judge_git },
	{ "alias", command_judge_alias },
};

/* Whether PATTERN can be one of the words in NAMES. */
static bool may_be_one(const char *pattern, const char *names)
{
	while (*names) {
		size_t len = strcspn(names, " ");
		owned(free_ptr) char *name = xstrndup(names, len);

		if (wildcard_matches(pattern, name, 0))
			return true;
		names += len + (names[len] == ' ');
	}
	return false;
}

bool command_may_be(const char *pattern)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (may_be_one(pattern, rows[i].names))
			return true;
	}
	return may_be_one(pattern, "sh bash python3 node perl") || command_tool_is(pattern);
}

/* Whether a file system is made in a file that is there for it: a temporary one, or an image among a build's results. */
static bool is_image(const struct command *command)
{
	const char *one, *last = "";

	for (size_t i = 0; (one = command_word(command, i)); last = one, i++) {
		enum place_kind place = place_of(one);

		if (strchr(one, FOLD_GAP) || (place != PLACE_PLAIN && place != PLACE_TEMPORARY))
			return false;
	}
	return place_of(last) == PLACE_TEMPORARY || (place_is_output(last) && strchr(last, '.'));
}

void command_judge_rows(const struct command *command)
{
	const char *one;

	if (str_starts(command->name, "mkfs") || str_starts(command->name, "mkswap"))
		command_find(command, RULE_DEVICE,
			     is_image(command) ? SEVERITY_LOW : SEVERITY_CRITICAL);
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (strstr(one, "stratum+tcp://"))
			command_find(command, RULE_EXHAUSTION, SEVERITY_HIGH);
	}
	command_judge_tools(command);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (*command->name && in_list(rows[i].names, command->name)) {
			rows[i].judge(command);
			return;
		}
	}
}
