/* SPDX-License-Identifier: Apache-2.0 */
/* Commands the scanner knows, and what their words make of them. */
#include "scan/judge/command_rows.h"

#include "base/own.h"
#include "base/wildcard.h"
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

static void judge_systemctl(const struct command *command)
{
	if (command_has(command, "enable") || command_has(command, "link"))
		command_find(command, RULE_PERSISTENCE, SEVERITY_HIGH);
	else if (command_has(command, "stop") || command_has(command, "disable") ||
		 command_has(command, "mask"))
		command_find(command, RULE_PRIVILEGE, SEVERITY_HIGH);
	else if (command_has(command, "start") || command_has(command, "restart"))
		command_find(command, RULE_PRIVILEGE, SEVERITY_MEDIUM);
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
	command_find(command, RULE_EXEC, SEVERITY_MEDIUM);
}

static void judge_names(const struct command *command)
{
	const char *one = command_word(command, 0);

	/* A name to be resolved that is made from data carries it away. */
	command_find(command, RULE_NETWORK,
		     one && strchr(one, FOLD_GAP) && strchr(one, '.') ? SEVERITY_MEDIUM
								      : SEVERITY_LOW);
}

struct command_row {
	const char *name;
	void (*judge)(const struct command *command); /* NULL: the rule as it is */
	enum scan_rule rule;
	enum scan_severity severity;
};

#define PLAIN(name, rule, severity)                          \
	{                                                    \
		name, NULL, RULE_##rule, SEVERITY_##severity \
	}
#define JUDGED(name, function)                           \
	{                                                \
		name, function, RULE_EXEC, SEVERITY_NONE \
	}

static const struct command_row rows[] = {
	JUDGED("rm", judge_rm),
	JUDGED("rmdir", judge_rm),
	JUDGED("unlink", judge_rm),
	JUDGED("dd", judge_dd),
	JUDGED("find", judge_find),
	JUDGED("chmod", judge_chmod),
	JUDGED("chown", judge_owner),
	JUDGED("curl", command_judge_fetch),
	JUDGED("pip", command_judge_packages),
	JUDGED("pip3", command_judge_packages),
	JUDGED("npm", command_judge_packages),
	JUDGED("yarn", command_judge_packages),
	JUDGED("gem", command_judge_packages),
	JUDGED("wget", command_judge_fetch),
	JUDGED("nc", command_judge_netcat),
	JUDGED("ncat", command_judge_netcat),
	JUDGED("netcat", command_judge_netcat),
	JUDGED("socat", command_judge_netcat),
	JUDGED("scp", command_judge_copy_away),
	JUDGED("rsync", command_judge_copy_away),
	JUDGED("cat", command_judge_readers),
	JUDGED("less", command_judge_readers),
	JUDGED("more", command_judge_readers),
	JUDGED("head", command_judge_readers),
	JUDGED("tail", command_judge_readers),
	JUDGED("grep", command_judge_readers),
	JUDGED("awk", command_judge_awk),
	JUDGED("gawk", command_judge_awk),
	JUDGED("mawk", command_judge_awk),
	JUDGED("nawk", command_judge_awk),
	JUDGED("tar", command_judge_tar),
	JUDGED("trap", command_judge_trap),
	JUDGED("vim", command_judge_editor),
	JUDGED("vi", command_judge_editor),
	JUDGED("nvim", command_judge_editor),
	JUDGED("zip", command_judge_readers),
	JUDGED("base64", command_judge_readers),
	JUDGED("xxd", command_judge_readers),
	JUDGED("strings", command_judge_readers),
	JUDGED("cut", command_judge_readers),
	JUDGED("ls", command_judge_readers),
	JUDGED("sort", command_judge_readers),
	JUDGED("gpg", command_judge_readers),
	JUDGED("openssl", command_judge_readers),
	JUDGED("od", command_judge_readers),
	JUDGED("sqlite3", command_judge_readers),
	JUDGED("cp", judge_writers),
	JUDGED("mv", judge_writers),
	JUDGED("ln", judge_writers),
	JUDGED("install", judge_writers),
	JUDGED("tee", judge_writers),
	JUDGED("touch", judge_writers),
	JUDGED("truncate", judge_writers),
	JUDGED("sed", command_judge_sed),
	JUDGED("crontab", judge_crontab),
	JUDGED("systemctl", judge_systemctl),
	JUDGED("docker", judge_docker),
	JUDGED("podman", judge_docker),
	JUDGED("kill", judge_kill),
	JUDGED("killall", judge_kill),
	JUDGED("pkill", judge_kill),
	JUDGED("history", judge_history),
	JUDGED("unset", judge_unset),
	JUDGED("eval", judge_eval),
	JUDGED("dig", judge_names),
	JUDGED("nslookup", judge_names),
	JUDGED("host", judge_names),
	JUDGED("git", command_judge_git),
	JUDGED("alias", command_judge_alias),
	PLAIN("shred", DELETE, HIGH),
	PLAIN("wipefs", DEVICE, CRITICAL),
	PLAIN("fdisk", DEVICE, CRITICAL),
	PLAIN("sfdisk", DEVICE, CRITICAL),
	PLAIN("parted", DEVICE, CRITICAL),
	PLAIN("sgdisk", DEVICE, CRITICAL),
	PLAIN("blkdiscard", DEVICE, CRITICAL),
	PLAIN("hdparm", DEVICE, HIGH),
	PLAIN("badblocks", DEVICE, HIGH),
	PLAIN("telnet", NETWORK, MEDIUM),
	PLAIN("ssh", NETWORK, MEDIUM),
	PLAIN("sftp", SEND, MEDIUM),
	PLAIN("ftp", SEND, MEDIUM),
	PLAIN("tftp", SEND, MEDIUM),
	PLAIN("rclone", NETWORK, LOW),
	PLAIN("mail", SEND, MEDIUM),
	PLAIN("sendmail", SEND, MEDIUM),
	PLAIN("nmap", NETWORK, HIGH),
	PLAIN("masscan", NETWORK, HIGH),
	PLAIN("hydra", NETWORK, HIGH),
	PLAIN("ngrok", NETWORK, HIGH),
	PLAIN("tcpdump", SPY, MEDIUM),
	PLAIN("xinput", SPY, MEDIUM),
	PLAIN("scrot", SPY, HIGH),
	PLAIN("su", PRIVILEGE, HIGH),
	PLAIN("passwd", PRIVILEGE, HIGH),
	PLAIN("chpasswd", PRIVILEGE, HIGH),
	PLAIN("useradd", PRIVILEGE, HIGH),
	PLAIN("adduser", PRIVILEGE, HIGH),
	PLAIN("usermod", PRIVILEGE, HIGH),
	PLAIN("visudo", PRIVILEGE, HIGH),
	PLAIN("setcap", PRIVILEGE, HIGH),
	PLAIN("insmod", PRIVILEGE, HIGH),
	PLAIN("modprobe", PRIVILEGE, HIGH),
	PLAIN("rmmod", PRIVILEGE, HIGH),
	PLAIN("mount", PRIVILEGE, MEDIUM),
	PLAIN("chroot", PRIVILEGE, MEDIUM),
	PLAIN("nsenter", PRIVILEGE, HIGH),
	PLAIN("iptables", PRIVILEGE, HIGH),
	PLAIN("nft", PRIVILEGE, HIGH),
	PLAIN("ufw", PRIVILEGE, HIGH),
	PLAIN("setenforce", PRIVILEGE, HIGH),
	PLAIN("sysctl", PRIVILEGE, MEDIUM),
	PLAIN("chattr", PRIVILEGE, HIGH),
	PLAIN("update-rc.d", PERSISTENCE, HIGH),
	PLAIN("chkconfig", PERSISTENCE, HIGH),
	PLAIN("at", PERSISTENCE, MEDIUM),
	PLAIN("shutdown", EXHAUSTION, HIGH),
	PLAIN("reboot", EXHAUSTION, HIGH),
	PLAIN("halt", EXHAUSTION, HIGH),
	PLAIN("poweroff", EXHAUSTION, HIGH),
	PLAIN("xmrig", EXHAUSTION, HIGH),
	PLAIN("minerd", EXHAUSTION, HIGH),
	PLAIN("cpuminer", EXHAUSTION, HIGH),
	PLAIN("gcore", SPY, HIGH),
	PLAIN("gdb", NATIVE, LOW),
};

bool command_may_be(const char *pattern)
{
	static const char *const others[] = { "sh", "bash", "python3", "node", "perl" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (wildcard_matches(pattern, rows[i].name, 0))
			return true;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (wildcard_matches(pattern, others[i], 0))
			return true;
	}
	return command_tool_is(pattern);
}

void command_judge_rows(const struct command *command)
{
	const char *one;

	if (str_starts(command->name, "mkfs") || str_starts(command->name, "mkswap"))
		command_find(command, RULE_DEVICE, SEVERITY_CRITICAL);
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (strstr(one, "stratum+tcp://"))
			command_find(command, RULE_EXHAUSTION, SEVERITY_HIGH);
	}
	command_judge_tools(command);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].name[0] != command->name[0] || strcmp(rows[i].name, command->name) != 0)
			continue;
		if (rows[i].judge)
			rows[i].judge(command);
		else
			command_find(command, rows[i].rule, rows[i].severity);
		return;
	}
}
