/* SPDX-License-Identifier: Apache-2.0 */
/* Guard: the decision, from the worst that can be seen to the best that can be shown. */
#include "decide/guard/guard.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "decide/guard/look.h"
#include "decide/guard/readers.h"

#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const decision_names[] = { "direct", "sandbox", "ask", "deny" };
static const char *const risk_names[] = { "none", "low", "medium", "high", "critical" };

const char *guard_decision_name(enum guard_decision decision)
{
	return decision_names[decision];
}

const char *guard_risk_name(enum guard_risk risk)
{
	return risk_names[risk];
}

void guard_verdict_done(struct guard_verdict *verdict)
{
	strv_done(&verdict->reasons);
}

/* Raises decision and risk, never lowers them. */
void guard_raise(struct guard_verdict *verdict, enum guard_decision decision, enum guard_risk risk,
		 const char *why, const char *what)
{
	char shown[STR_SHOWN_SIZE];

	if (decision > verdict->decision)
		verdict->decision = decision;
	if (risk > verdict->risk)
		verdict->risk = risk;
	strv_addf(&verdict->reasons, "%s%s%s", why, *what ? ": " : "", str_shown(what, shown));
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

/* Where a distribution, or an administrator, puts programs: never a workspace, not even root's. */
static bool is_system_place(const char *dir)
{
	static const char *const places[] = { "/usr/bin", "/bin",	    "/usr/sbin",
					      "/sbin",	  "/usr/local/bin", NULL };

	return is_one_of(dir, places);
}

/* Only root can put another program there: the directory and all above it belong to root. */
static bool is_roots_alone(const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	if (!path_real_into(path, part))
		return false;
	for (;;) {
		char *slash = strrchr(part, '/');

		if (lstat(part[0] ? part : "/", &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
			return false;
		if (!slash || !part[0])
			return true;
		*slash = '\0';
	}
}

/* The place where it was found, and what a link there leads to. */
static bool is_trusted(const char *program)
{
	owned(free_ptr) char *dir = xstrndup(program, (size_t)(strrchr(program, '/') - program));

	return is_system_place(dir) && is_roots_alone(dir) && is_roots_alone(program);
}

/* The program that NAME means, looked up as a shell would, or where one might be found. */
static bool find_program(const struct guard_request *request, const char *name, char *ret_path)
{
	struct stat st;

	if (strchr(name, '/') || !request->path)
		return false;
	for (const char *at = request->path; *at;) {
		size_t len = strcspn(at, ":");
		int used = snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)len, at, name);

		/* An empty or relative part of PATH means wherever we stand: whatever is found there is not root's. */
		if (len == 0 || at[0] != '/') {
			(void)snprintf(ret_path, PATH_MAX, "./%s", name);
			return true;
		}
		if (used > 0 && used < PATH_MAX && stat(ret_path, &st) == 0 &&
		    S_ISREG(st.st_mode) && (st.st_mode & 0111))
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

#define LINKS_MAX 40

/* Replaces PATH, a dangling link, by its target; false when it is no link. */
static bool follow(char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target) - 1);
	char *slash = strrchr(path, '/');
	size_t kept;

	if (len <= 0 || !slash)
		return false;
	target[len] = '\0';
	kept = target[0] == '/' ? 0 : (size_t)(slash + 1 - path);
	if (kept + (size_t)len >= PATH_MAX)
		return false;
	memcpy(path + kept, target, (size_t)len + 1);
	return true;
}

/* The nearest directory above PATH that is there, links resolved, and where the rest of PATH begins. */
static size_t nearest_directory(const char *path, char dir[PATH_MAX])
{
	size_t len = strlen(path);
	char part[PATH_MAX];

	do {
		while (len > 0 && path[--len] != '/')
			;
		(void)snprintf(part, sizeof(part), "%.*s", (int)len, path);
	} while (len > 0 && !path_real_into(part, dir));
	return len;
}

/* Where WORD leads, links resolved, also those to what is not there yet: that lies in the nearest directory that is. */
bool guard_resolve(const struct guard_request *request, const char *word, char *ret_path)
{
	char path[PATH_MAX], dir[PATH_MAX];
	int used = snprintf(path, sizeof(path), "%s%s%s", word[0] == '/' ? "" : request->cwd,
			    word[0] == '/' ? "" : "/", word);
	size_t len;

	if (used <= 0 || (size_t)used >= sizeof(path))
		return false;
	if (path_real_into(path, ret_path))
		return true;
	for (int i = 0; i < LINKS_MAX && follow(path); i++)
		;
	len = nearest_directory(path, dir);
	/* ".." behind a name that does not exist: it may become a link to anywhere. */
	if (strstr(path + len, "/.."))
		return false;
	owned(free_ptr) char *joined = xasprintf("%s%s", len > 0 ? dir : "", path + len);
	owned(free_ptr) char *clean = path_clean(joined);

	used = clean ? snprintf(ret_path, PATH_MAX, "%s", clean) : 0;
	return used > 0 && used < PATH_MAX;
}

/* dd's of=FILE, rsync's --out=FILE: the file behind the sign. */
static const char *file_part(const char *word)
{
	const char *sign = strchr(word, '=');

	return sign ? sign + 1 : word;
}

void guard_look_at_file(const struct guard_request *request, const char *path,
			struct guard_verdict *verdict)
{
	struct stat st;
	bool is_there = stat(path, &st) == 0;

	if (is_there && S_ISBLK(st.st_mode))
		guard_raise(verdict, GUARD_DENY, RISK_CRITICAL, "touches a block device", path);
	/* Endless, or another process's: to be met with limits and an own /proc. */
	if ((is_there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISBLK(st.st_mode)) ||
	    path_is_within(path, "/proc") || path_is_within(path, "/sys"))
		guard_raise(verdict, GUARD_SANDBOX, RISK_LOW, "is no plain file", path);
	if (request->is_ours(path, request->cookie))
		guard_raise(verdict, GUARD_DENY, RISK_CRITICAL, "touches the store of aisbx", path);
	if (request->is_secret(path, request->cookie))
		guard_raise(verdict, GUARD_DENY, RISK_HIGH, "touches a credential", path);
}

static void look_at_files(const struct guard_request *request, struct guard_verdict *verdict)
{
	char path[PATH_MAX];

	for (size_t i = 1; i < request->command->count; i++) {
		const char *word = request->command->items[i];
		const char *part = file_part(word);

		if (guard_resolve(request, word, path))
			guard_look_at_file(request, path, verdict);
		if (part != word && *part && guard_resolve(request, part, path))
			guard_look_at_file(request, path, verdict);
	}
}

static bool is_recursive(const struct strv *command)
{
	for (size_t i = 1; i < command->count; i++) {
		const char *word = command->items[i];

		if (strcmp(word, "--recursive") == 0 ||
		    (word[0] == '-' && word[1] != '-' && strpbrk(word, "rR")))
			return true;
	}
	return false;
}

static void look_at_writing(const struct guard_request *request, const char *name,
			    struct guard_verdict *verdict)
{
	static const char *const writers[] = { "rm",	"rmdir",  "mv",	   "cp",       "ln",
					       "mkdir", "touch",  "chmod", "chown",    "chgrp",
					       "tee",	"dd",	  "shred", "truncate", "install",
					       "rsync", "unlink", NULL };
	bool deletes = strcmp(name, "rm") == 0 && is_recursive(request->command);
	char path[PATH_MAX];

	if (!is_one_of(name, writers))
		return;
	for (size_t i = 1; i < request->command->count; i++) {
		const char *word = file_part(request->command->items[i]);
		bool is_known = guard_resolve(request, word, path);

		if (word[0] == '-' || (is_known && path_is_within(path, request->workspace) &&
				       strcmp(path, request->workspace) != 0))
			continue;
		if (!is_known)
			(void)snprintf(path, sizeof(path), "%s", word);
		if (deletes)
			guard_raise(verdict, GUARD_ASK, RISK_HIGH,
				    "deletes recursively outside the workspace", path);
		else
			guard_raise(verdict, GUARD_ASK, RISK_MEDIUM, "writes outside the workspace",
				    path);
	}
}

static bool has_word(const struct strv *command, const char *const *words)
{
	for (size_t i = 1; i < command->count; i++) {
		if (is_one_of(command->items[i], words))
			return true;
	}
	return false;
}

/* find -fprint FILE: what was found is written there. */
static void look_at_lists(const struct guard_request *request, struct guard_verdict *verdict)
{
	static const char *const lists[] = { "-fprint", "-fprint0", "-fprintf", "-fls", NULL };
	char path[PATH_MAX];

	for (size_t i = 1; i + 1 < request->command->count; i++) {
		const char *file = request->command->items[i + 1];

		if (is_one_of(request->command->items[i], lists) &&
		    (!guard_resolve(request, file, path) ||
		     !path_is_within(path, request->workspace)))
			guard_raise(verdict, GUARD_ASK, RISK_MEDIUM, "writes outside the workspace",
				    file);
	}
}

/* find DIRECTORY... -delete, -exec: what lies there is written, or given to something that may. */
static void look_at_found(const struct guard_request *request, struct guard_verdict *verdict)
{
	static const char *const acts[] = { "-delete", "-exec", "-execdir", "-ok", "-okdir", NULL };
	char path[PATH_MAX];

	look_at_lists(request, verdict);
	if (!has_word(request->command, acts))
		return;
	for (size_t i = 1; i < request->command->count; i++) {
		const char *word = request->command->items[i];

		if (word[0] == '-' || word[0] == '(' || word[0] == '!')
			return;
		if (!guard_resolve(request, word, path) ||
		    !path_is_within(path, request->workspace))
			guard_raise(verdict, GUARD_ASK, RISK_HIGH,
				    "changes what it finds outside the workspace", word);
	}
}

/* python3 -m pip, python3 -Im pip: the module that an interpreter runs in its place; NAME otherwise. */
static const char *module_or_name(const struct strv *command, const char *name)
{
	for (size_t i = 1; str_starts(name, "python") && i + 1 < command->count; i++) {
		const char *word = command->items[i];

		if (word[0] == '-' && word[1] != '-' && str_ends(word, "m"))
			return command->items[i + 1];
	}
	return name;
}

static void look_at_network(const struct guard_request *request, const char *name,
			    struct guard_verdict *verdict)
{
	static const char *const talkers[] = { "curl",	     "wget", "ssh",    "scp",	   "sftp",
					       "nc",	     "ncat", "netcat", "socat",	   "telnet",
					       "ftp",	     "dig",  "host",   "nslookup", "ping",
					       "traceroute", "mosh", NULL };
	static const char *const git_verbs[] = { "clone",  "fetch",	"pull",	      "push",
						 "update", "ls-remote", "send-email", NULL };
	static const char *const managers[] = { "pip",	 "pip3", "npm", "yarn",	   "pnpm", "npx",
						"cargo", "go",	 "apt", "apt-get", "dnf",  "docker",
						"gem",	 "uv",	 "mvn", NULL };
	static const char *const fetching[] = { "clone",    "fetch", "pull",   "push",	  "install",
						"add",	    "get",   "update", "upgrade", "publish",
						"download", "ci",    NULL };

	name = module_or_name(request->command, name);
	if (is_one_of(name, talkers))
		guard_raise(verdict, GUARD_ASK, RISK_MEDIUM, "uses the network", name);
	else if (strcmp(name, "git") == 0
			 ? has_word(request->command, git_verbs)
			 : is_one_of(name, managers) && has_word(request->command, fetching))
		guard_raise(verdict, GUARD_ASK, RISK_MEDIUM, "fetches or sends over the network",
			    name);
}

/* rsync FILE HOST:PLACE */
static void look_at_hosts(const struct guard_request *request, const char *name,
			  struct guard_verdict *verdict)
{
	for (size_t i = 1; strcmp(name, "rsync") == 0 && i < request->command->count; i++) {
		const char *word = request->command->items[i];

		if (word[0] != '-' && word[strcspn(word, ":/")] == ':')
			guard_raise(verdict, GUARD_ASK, RISK_MEDIUM, "uses the network", word);
	}
}

static const char *base_name(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

static bool names_directory(const struct guard_request *request, const char **ret_what)
{
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 1; i < request->command->count; i++) {
		*ret_what = request->command->items[i];
		if (guard_resolve(request, *ret_what, path) && stat(path, &st) == 0 &&
		    S_ISDIR(st.st_mode))
			return true;
	}
	return false;
}

bool guard_is_trusted(const struct guard_request *request, const char *name)
{
	char program[PATH_MAX];

	if (name[0] == '/')
		return is_trusted(name);
	return find_program(request, name, program) && is_trusted(program);
}

bool guard_is_absent(const struct guard_request *request, const char *name)
{
	char program[PATH_MAX];

	return request->path && !strchr(name, '/') && !find_program(request, name, program);
}

const char *guard_why_not_direct(const struct guard_request *request, const char **ret_what)
{
	const char *word = request->command->items[0];
	const struct reader_row *row = reader_find(word);

	*ret_what = word;
	if (strchr(word, '/'))
		return "is named by a path, not found on PATH";
	if (!row)
		return "is not on the list of commands that only read";
	if (!guard_is_trusted(request, word))
		return "is not found first in a directory that only root can write to";
	if (!reader_knows_words(row, request->command, ret_what))
		return "is not on the list of what this command may be given";
	/* A link in the tree is enough to lead to a credential; a sandbox hides them. */
	if (row->operands == OPERANDS_TREES && is_recursive(request->command))
		return "reads whole trees, whatever is in them";
	if (row->operands == OPERANDS_PAIRS && names_directory(request, ret_what))
		return "reads what lies in a directory, wherever links there lead";
	return NULL;
}

bool guard_is_plain(const struct guard_request *request)
{
	const char *what;

	return guard_why_not_direct(request, &what) == NULL;
}

void guard_look_at_command(const struct guard_request *request, struct guard_verdict *verdict)
{
	const char *name = base_name(request->command->items[0]);

	look_at_files(request, verdict);
	look_at_writing(request, name, verdict);
	if (strcmp(name, "find") == 0)
		look_at_found(request, verdict);
	look_at_network(request, name, verdict);
	look_at_hosts(request, name, verdict);
}

static void decide_command(const struct guard_request *request, struct guard_verdict *verdict)
{
	const char *what = "", *why = guard_why_not_direct(request, &what);

	guard_look_at_command(request, verdict);
	if (why && verdict->decision == GUARD_DIRECT)
		guard_raise(verdict, GUARD_SANDBOX, RISK_LOW, why, what);
}

void guard_decide(const struct guard_request *request, struct guard_verdict *ret_verdict)
{
	struct guard_verdict verdict = { .decision = GUARD_DIRECT };

	if (request->parts)
		guard_decide_parts(request, &verdict);
	else
		decide_command(request, &verdict);
	if (request->is_busy && verdict.decision == GUARD_DIRECT)
		guard_raise(&verdict, GUARD_SANDBOX, RISK_NONE,
			    "the machine is busy: with limits only", "");
	if (verdict.decision == GUARD_DIRECT)
		guard_raise(&verdict, GUARD_DIRECT, RISK_NONE, "only reads",
			    base_name(request->command->items[0]));
	*ret_verdict = verdict;
}
