/* SPDX-License-Identifier: Apache-2.0 */
/* Commands by their words: those in front of others, and what each is about. */
#include "scan/judge/command.h"

#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command_rows.h"
#include "scan/follow/fold.h"

#include <ctype.h>
#include <string.h>

const char *command_name(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

/* Commands that start another one, and how many words of their own they take before it. */
static const struct {
	const char *name;
	unsigned words;
	const char *valued; /* options that take the next word */
} wrappers[] = {
	{ "sudo", 0, "ugpCh" },	    { "doas", 0, "u" },		{ "env", 0, "uC" },
	{ "nohup", 0, "" },	    { "timeout", 1, "sk" },	{ "nice", 0, "n" },
	{ "time", 0, "fo" },	    { "command", 0, "" },	{ "exec", 0, "a" },
	{ "builtin", 0, "" },	    { "xargs", 0, "InPLdsaE" }, { "busybox", 0, "" },
	{ "setsid", 0, "" },	    { "stdbuf", 0, "ioe" },	{ "ionice", 0, "cnp" },
	{ "chrt", 1, "" },	    { "unbuffer", 0, "" },	{ "watch", 0, "n" },
	{ "strace", 0, "eof" },	    { "toybox", 0, "" },	{ "proxychains", 0, "f" },
	{ "torsocks", 0, "" },	    { "script", 0, "" },	{ "setpriv", 0, "" },
	{ "flock", 1, "wE" },	    { "taskset", 1, "" },	{ "prlimit", 0, "" },
	{ "unshare", 0, "" },	    { "runuser", 0, "ugG" },	{ "ltrace", 0, "eo" },
	{ "systemd-run", 0, "pu" }, { "parallel", 0, "jN" },	{ "firejail", 0, "" },
	{ "ld-linux", 0, "" },	    { "coproc", 0, "" },
};

/* The loader starts a program that is named to it, whatever its version. */
static bool is_loader(const char *name)
{
	return str_starts(name, "ld-linux") || str_starts(name, "ld-musl");
}

static int find_wrapper(const char *name)
{
	name = is_loader(name) ? "ld-linux" : name;
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
		if (wrappers[i].name[0] == name[0] && strcmp(wrappers[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

bool command_is_wrapper(const char *name)
{
	return find_wrapper(name) >= 0;
}

/* Behind the wrapper at AT: its options, its own words, NAME=VALUE. */
static size_t pass_wrapper(const struct strv *words, size_t at, int wrapper)
{
	unsigned own = wrappers[wrapper].words;

	for (at++; at < words->count; at++) {
		const char *word = words->items[at];
		size_t len = strlen(word);

		if (word[0] == '-' && len == 2 && strchr(wrappers[wrapper].valued, word[1]))
			at++;
		else if (word[0] != '-' && !(strchr(word, '=') && !strchr(word, '/')) && own-- == 0)
			break;
	}
	return at;
}

size_t command_start(const struct strv *words)
{
	size_t at = 0;

	for (unsigned i = 0; i < 8 && at < words->count; i++) {
		int wrapper = find_wrapper(command_name(words->items[at]));

		if (wrapper < 0)
			break;
		at = pass_wrapper(words, at, wrapper);
	}
	return at;
}

bool command_fetches(const char *name)
{
	return in_list("curl wget fetch aria2c lynx nc ncat http axel", name);
}

static bool has_option(const struct strv *words, const char *option)
{
	for (size_t i = 1; i < words->count; i++) {
		if (strcmp(words->items[i], option) == 0)
			return true;
	}
	return false;
}

bool command_decodes(const char *name, const struct strv *words)
{
	if (strcmp(name, "base64") == 0 || strcmp(name, "base32") == 0)
		return has_option(words, "-d") || has_option(words, "--decode") ||
		       has_option(words, "-D") || has_option(words, "-di") ||
		       has_option(words, "-id");
	if (strcmp(name, "xxd") == 0)
		return has_option(words, "-r") || has_option(words, "-rp") ||
		       has_option(words, "-r -p");
	return in_list("rev tr openssl gunzip zcat uudecode gzip xz sed", name);
}

bool command_is_interpreter(const char *name)
{
	return in_list("perl ruby php lua Rscript tclsh osascript", name) ||
	       scan_language_of_program(name) != SCAN_UNKNOWN;
}

bool command_is_fed(const struct command *command)
{
	for (size_t i = 0; i < command->start; i++) {
		if (in_list("xargs parallel", command_name(command->words->items[i])))
			return true;
	}
	return false;
}

/* xargs sh, xargs -I{} sh -c {}, xargs sh -c '"$@"': each line is a program, or the name of one. */
static bool runs_lines(const struct strv *words, size_t start)
{
	const char *mark = "{}";
	bool is_fed = false;

	for (size_t i = 0; i < start; i++) {
		const char *name = command_name(words->items[i]);

		is_fed = is_fed || strcmp(name, "xargs") == 0 || strcmp(name, "parallel") == 0;
		if (strncmp(words->items[i], "-I", 2) == 0)
			mark = words->items[i][2] ? words->items[i] + 2 : words->items[i + 1];
	}
	for (size_t i = start + 1; is_fed && i < words->count; i++) {
		const char *code = words->items[i];

		if (code[0] != '-')
			return strcmp(code, mark) == 0 ||
			       in_list("{} $@ $0 $* \"$@\" \"$*\" \"$0\"", code) ||
			       code[0] == FOLD_GAP;
	}
	return is_fed;
}

/* What follows the name of the option that names a file of rules, or NULL. */
static const char *after_rules_option(const char *word)
{
	static const char *const names[] = { "--file=", "--makefile=", "-f" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_starts(word, names[i]))
			return word + strlen(names[i]);
	return NULL;
}

/* make -f -, make -f/dev/stdin: rules that come in. */
static bool reads_rules(const struct strv *words, size_t at)
{
	for (at++; at < words->count; at++) {
		const char *file = after_rules_option(words->items[at]);

		if (file && !*file && at + 1 < words->count)
			file = words->items[at + 1];
		/* The grammar leaves a lone - out. */
		if (file && (!*file || in_list("- /dev/stdin", file)))
			return true;
	}
	return false;
}

/* Without a script, or with -s or - in its place. */
static bool reads_script(const struct strv *words, size_t at, bool is_shell)
{
	for (at++; at < words->count; at++) {
		const char *word = words->items[at];

		if (strcmp(word, "-") == 0 || strcmp(word, "/dev/stdin") == 0 ||
		    (is_shell && strcmp(word, "-s") == 0) || strcmp(word, "--") == 0)
			return true;
		if (word[0] != '-' || strchr(word, 'c') || strchr(word, 'e') ||
		    strcmp(word, "-m") == 0)
			return false;
	}
	return true;
}

size_t command_remote(const struct strv *words, size_t at)
{
	bool has_host = false;

	for (at++; at < words->count; at++) {
		const char *one = words->items[at];

		if (one[0] == '-' && one[1])
			at += !one[2] && strchr("bcDEeFIiJLlmOopQRSWw", one[1]) ? 1 : 0;
		else if (has_host)
			break;
		else
			has_host = true;
	}
	return at < words->count ? at : words->count;
}

bool command_reads_code(const struct strv *words)
{
	size_t at = command_start(words);
	const char *name = at < words->count ? command_name(words->items[at]) : "";

	if (strcmp(name, "source") == 0 || strcmp(name, ".") == 0)
		return at + 1 < words->count && strcmp(words->items[at + 1], "/dev/stdin") == 0;
	if (in_list("make gmake", name))
		return reads_rules(words, at);
	/* ssh HOST, ssh HOST sh: what comes in is run there. */
	if (strcmp(name, "ssh") == 0) {
		at = command_remote(words, at);
		return at == words->count || in_list_bytes("sh bash dash zsh ksh", words->items[at],
							   strcspn(words->items[at], " "));
	}
	return command_is_interpreter(name) &&
	       (runs_lines(words, at) ||
		reads_script(words, at, scan_language_of_program(name) == SCAN_SHELL));
}

void judge_target(struct scan_job *job, uint32_t at, const char *path)
{
	switch (place_of(path)) {
	case PLACE_DISK:
		job_find(job, at, RULE_DEVICE, SEVERITY_CRITICAL, path);
		break;
	case PLACE_START:
	case PLACE_ACCOUNTS:
	case PLACE_SECRET:
		job_find(job, at, RULE_PERSISTENCE, SEVERITY_HIGH, path);
		break;
	case PLACE_SYSTEM:
		job_find(job, at, RULE_PERSISTENCE, SEVERITY_MEDIUM, path);
		break;
	case PLACE_PLAIN:
	case PLACE_EVERYTHING:
	case PLACE_TEMPORARY:
		break;
	}
	if (place_is_obeyed(path))
		job_find(job, at, RULE_PERSISTENCE, SEVERITY_MEDIUM, path);
	if (str_starts(path, "/dev/tcp/") || str_starts(path, "/dev/udp/"))
		job_find(job, at, RULE_REVERSE_SHELL, SEVERITY_CRITICAL, path);
}

/* The code behind -c or -e; NULL when there is none. Joined letters count: bash -lc. */
static const char *code_of(const struct strv *words, size_t at, const char *letters)
{
	for (size_t i = at + 1; i + 1 < words->count; i++) {
		const char *word = words->items[i];

		if (word[0] != '-' || !word[1])
			return NULL;
		/* -MFile::Path=remove_tree is one option, not joined letters. */
		if (word[1] != '-' && strchr(word, '='))
			continue;
		if (word[1] == '-' ? strcmp(word, "--eval") == 0 || strcmp(word, "--print") == 0
				   : strchr(letters, word[strlen(word) - 1]) != NULL)
			return words->items[i + 1];
	}
	return NULL;
}

void command_judge_unread(const struct command *command, const char *code)
{
	static const char *const words[] = {
		"exec",		"system",	  "popen",	 "eval",      "fork",
		"unlink",	"spawn",	  "open(",	 "base64",    "shell",
		"rmtree",	"remove_tree",	  "rm_r",	 "qx",	      "`",
		"File.delete",	"chmod 0",	  "Net::",	 "os.remove", "delete-",
		"call-process", "start-process",  "os:cmd",	 "passthru",  "System.cmd",
		"getRuntime",	"ProcessBuilder", "Remove-Item", "iex ",      "rm(",
		"file.remove",	"run(`",	  "delete_r",	 "FileUtils"
	};
	bool is_net = strcasestr(code, "socket") || strcasestr(code, "sockopen") ||
		      strstr(code, "/inet/");
	bool is_grave = is_net;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is_grave = is_grave || strstr(code, words[i]);
	command_find(command, RULE_EXEC, is_grave ? SEVERITY_HIGH : SEVERITY_LOW);
	if (is_net)
		command_find(command, RULE_REVERSE_SHELL, SEVERITY_CRITICAL);
}

void judge_foreign(struct scan_job *job, uint32_t at, const struct strv *words, const char *code)
{
	struct command command = {
		.job = job, .at = at, .words = words, .start = command_start(words)
	};
	owned(str_done) struct str recipes = STR_INIT;

	if (command.start >= words->count)
		return;
	command.name = command_name(words->items[command.start]);
	if (!in_list("make gmake", command.name)) {
		command_judge_unread(&command, code);
		return;
	}
	/* The lines of a rule are a shell's, each behind a tab. */
	for (const char *line = code; *line; line += *line == '\n') {
		size_t len = strcspn(line, "\n");

		if (*line == '\t') {
			size_t marks = 1 + strspn(line + 1, "@-+ ");

			str_add_bytes(&recipes, line + marks, len - marks);
			str_add_char(&recipes, '\n');
		}
		line += len;
	}
	if (recipes.len > 0)
		(void)job_nested(job, at, SCAN_SHELL, str_cstr(&recipes), recipes.len);
}

static void judge_interpreter(const struct command *command)
{
	enum scan_language language = scan_language_of_program(command->name);
	bool has_c = language == SCAN_SHELL || language == SCAN_PYTHON;
	const char *code = code_of(command->words, command->start,
				   has_c		      ? "c"
				   : language == SCAN_UNKNOWN ? "er"
							      : "ep");
	size_t len = code ? strlen(code) : 0;
	owned(strv_done) struct strv given = STRV_INIT;
	bool is_behind = false;

	if (!code)
		return;
	if (language == SCAN_UNKNOWN) {
		command_judge_unread(command, code);
		return;
	}
	if (code[0] == FOLD_GAP && len == 1) {
		command_find(command, RULE_EXEC, SEVERITY_MEDIUM);
		return;
	}
	for (size_t i = command->start; i < command->words->count; i++) {
		if (is_behind)
			strv_add(&given, command->words->items[i]);
		is_behind = is_behind || command->words->items[i] == code;
	}
	if (language == SCAN_SHELL && given.count > 0)
		command->job->common->given = &given;
	(void)job_nested(command->job, command->at, language, code, len);
	command->job->common->given = NULL;
}

static void check_lists(const struct command *command)
{
	owned(str_done) struct str whole = STR_INIT;
	const struct policy_entry *entry;

	for (size_t i = command->start; i < command->words->count && whole.len < 500; i++)
		str_addf(&whole, "%s%s", whole.len ? " " : "",
			 i == command->start ? command->name : command->words->items[i]);
	entry = scan_policy_forbids(command->job->policy, command->job->language, LIST_COMMANDS,
				    str_cstr(&whole));
	if (!entry && command->job->language != SCAN_SHELL)
		entry = scan_policy_forbids(command->job->policy, SCAN_SHELL, LIST_COMMANDS,
					    str_cstr(&whole));
	if (entry)
		job_find_entry(command->job, command->at, RULE_FORBIDDEN_COMMAND, entry,
			       entry->text);
}

/* sudo itself, whatever it starts. */
static void judge_wrappers(struct scan_job *job, uint32_t at, const struct strv *words,
			   size_t start)
{
	for (size_t i = 0; i < start && i < words->count; i++) {
		const char *name = command_name(words->items[i]);

		if (strcmp(name, "sudo") == 0 || strcmp(name, "doas") == 0)
			job_find(job, at, RULE_PRIVILEGE,
				 i + 1 == start && start < words->count &&
						 command_is_administration(words, start)
					 ? SEVERITY_LOW
					 : SEVERITY_MEDIUM,
				 name);
		if (str_starts(words->items[i], "LD_PRELOAD="))
			job_find(job, at, RULE_PRIVILEGE, SEVERITY_HIGH, "LD_PRELOAD");
	}
}

/* watch 'rm -rf x', flock FILE -c '...', script -c '...': a text for a shell behind a wrapper. */
static void judge_wrapped_text(struct scan_job *job, uint32_t at, const struct strv *words,
			       size_t start)
{
	for (size_t i = 0; i < words->count && i <= start; i++) {
		const char *word = words->items[i];
		bool is_code = i > 0 && strcmp(words->items[i - 1], "-c") == 0;

		if (start > 0 && (i == start || is_code) && strpbrk(word, " ;|&"))
			(void)job_nested(job, at, SCAN_SHELL, word, strlen(word));
		/* env -S'COMMAND WORDS' */
		if (strncmp(word, "-S", 2) == 0 && i > 0 &&
		    strcmp(command_name(words->items[i - 1]), "env") == 0)
			(void)job_nested(job, at, SCAN_SHELL, word + 2, strlen(word + 2));
	}
}

/* find ... -exec COMMAND ; starts one, too. */
static void judge_behind_exec(struct scan_job *job, uint32_t at, const struct strv *words)
{
	owned(strv_done) struct strv inner = STRV_INIT;
	const char *first = words->count > 1 ? words->items[1] : "";
	/* What is found may be all of it. */
	const char *where = place_of(first) == PLACE_PLAIN && !place_is_home(first) ? "{}" : first;
	size_t i = 1;

	while (i < words->count && !str_starts(words->items[i], "-exec") &&
	       strcmp(words->items[i], "-ok") != 0)
		i++;
	for (i++; i < words->count && strcmp(words->items[i], ";") != 0 &&
		  strcmp(words->items[i], "+") != 0 && strcmp(words->items[i], "\\;") != 0;
	     i++)
		strv_add(&inner, strcmp(words->items[i], "{}") == 0 ? where : words->items[i]);
	if (inner.count > 0)
		judge_command(job, at, &inner);
}

/* python3 -m pip install X is pip install X. */
static void judge_named_module(struct scan_job *job, uint32_t at, const struct strv *words,
			       size_t start)
{
	owned(strv_done) struct strv inner = STRV_INIT;

	if (scan_language_of_program(words->items[start]) != SCAN_PYTHON ||
	    start + 2 >= words->count || strcmp(words->items[start + 1], "-m") != 0 ||
	    strcmp(words->items[start + 2], "pip") != 0)
		return;
	for (size_t i = start + 2; i < words->count; i++)
		strv_add(&inner, words->items[i]);
	judge_command(job, at, &inner);
}

void judge_command(struct scan_job *job, uint32_t at, const struct strv *words)
{
	size_t start = command_start(words);
	struct command command = { .job = job, .at = at, .words = words, .start = start };

	judge_wrappers(job, at, words, start);
	judge_wrapped_text(job, at, words, start);
	job_keep_command(job, words, start);
	if (start >= words->count)
		return;
	command.name = command_name(words->items[start]);
	job_script(job, words, start);
	check_lists(&command);
	/* Started beside this one, to be written to later. */
	if (strcmp(words->items[0], "coproc") == 0 && command_reads_code(words))
		command_find(&command, RULE_PIPE, SEVERITY_MEDIUM);
	if (scan_policy_allows(job->policy, SCAN_SHELL, LIST_COMMANDS, command.name))
		return;
	if (strcmp(command.name, "find") == 0)
		judge_behind_exec(job, at, words);
	if (command_is_interpreter(command.name))
		judge_interpreter(&command);
	judge_named_module(job, at, words, start);
	command_judge_rows(&command);
}
