/* SPDX-License-Identifier: Apache-2.0 */
/* Guard: what runs directly, what belongs into a sandbox, what needs a person, what is refused. */
#include "decide/guard/guard.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "decide/guard/readers.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_secret(const char *path, void *cookie)
{
	(void)cookie;
	return strstr(path, "/.ssh/") || strcmp(path, "/etc/shadow") == 0;
}

static bool is_ours(const char *path, void *cookie)
{
	(void)cookie;
	return strstr(path, "/share/aisbx") != NULL;
}

struct row {
	const char *command; /* blanks between words */
	enum guard_decision decision;
	enum guard_risk at_least;
};

static const struct row rows[] = {
	{ "ls", GUARD_DIRECT, RISK_NONE },
	{ "ls -la --color=auto src", GUARD_DIRECT, RISK_NONE },
	{ "head -20 a.txt", GUARD_DIRECT, RISK_NONE },
	{ "head -n 20 a.txt", GUARD_DIRECT, RISK_NONE },
	{ "grep -n word a.txt", GUARD_DIRECT, RISK_NONE },
	{ "find . -name x.c -print", GUARD_DIRECT, RISK_NONE },
	{ "wc -l a.txt", GUARD_DIRECT, RISK_NONE },
	{ "date +%F", GUARD_DIRECT, RISK_NONE },
	/* Words that make a reader write, run or never end. */
	{ "find . -delete", GUARD_SANDBOX, RISK_LOW },
	{ "find . -exec rm {} ;", GUARD_SANDBOX, RISK_LOW },
	{ "find . -fprint list", GUARD_SANDBOX, RISK_LOW },
	/* A link to a place outside. */
	{ "find . -fprint out", GUARD_ASK, RISK_MEDIUM },
	{ "date 010100002030", GUARD_SANDBOX, RISK_LOW },
	{ "date -s now", GUARD_SANDBOX, RISK_LOW },
	{ "tail -f a.txt", GUARD_SANDBOX, RISK_LOW },
	{ "uniq a.txt b.txt", GUARD_SANDBOX, RISK_LOW },
	{ "sort -o b.txt a.txt", GUARD_SANDBOX, RISK_LOW },
	{ "sort -rn -k 2 a.txt", GUARD_DIRECT, RISK_NONE },
	{ "sort --compress-program=./x a.txt", GUARD_SANDBOX, RISK_LOW },
	{ "uniq -c", GUARD_DIRECT, RISK_NONE },
	{ "git add a.txt", GUARD_SANDBOX, RISK_LOW },
	{ "find .. -name x -delete", GUARD_ASK, RISK_HIGH },
	{ "grep -r word /usr", GUARD_SANDBOX, RISK_LOW },
	{ "grep -R word .", GUARD_SANDBOX, RISK_LOW },
	{ "diff -r src home", GUARD_SANDBOX, RISK_LOW },
	/* Files in them are read, and links there followed. */
	{ "diff src home", GUARD_SANDBOX, RISK_LOW },
	{ "diff a.txt src", GUARD_SANDBOX, RISK_LOW },
	{ "diff src/ a.txt", GUARD_SANDBOX, RISK_LOW },
	{ "diff -u -- src .", GUARD_SANDBOX, RISK_LOW },
	{ "diff - src", GUARD_SANDBOX, RISK_LOW },
	{ "cmp a.txt src", GUARD_SANDBOX, RISK_LOW },
	{ "sdiff src home", GUARD_SANDBOX, RISK_LOW },
	{ "diff3 src a.txt home", GUARD_SANDBOX, RISK_LOW },
	{ "colordiff src home", GUARD_SANDBOX, RISK_LOW },
	{ "git diff --no-index src home", GUARD_SANDBOX, RISK_LOW },
	{ "diff a.txt a.txt", GUARD_DIRECT, RISK_NONE },
	{ "diff a.txt key", GUARD_DENY, RISK_HIGH },
	{ "find -L . -name x", GUARD_SANDBOX, RISK_LOW },
	{ "printenv", GUARD_SANDBOX, RISK_LOW },
	{ "cat /dev/zero", GUARD_SANDBOX, RISK_LOW },
	{ "cat /proc/1/environ", GUARD_SANDBOX, RISK_LOW },
	/* Not on the list at all. */
	{ "git status", GUARD_SANDBOX, RISK_LOW },
	{ "git -c core.pager=x log", GUARD_SANDBOX, RISK_LOW },
	{ "env ls", GUARD_SANDBOX, RISK_LOW },
	{ "xargs ls", GUARD_SANDBOX, RISK_LOW },
	{ "sh -c ls", GUARD_SANDBOX, RISK_LOW },
	{ "./ls", GUARD_SANDBOX, RISK_LOW },
	{ "/bin/ls", GUARD_SANDBOX, RISK_LOW },
	{ "no-such-program", GUARD_SANDBOX, RISK_LOW },
	{ "rm -rf src", GUARD_SANDBOX, RISK_LOW },
	{ "make", GUARD_SANDBOX, RISK_LOW },
	/* A person's. */
	{ "rm -rf /usr", GUARD_ASK, RISK_HIGH },
	{ "rm -rf .", GUARD_ASK, RISK_HIGH },
	{ "rm -rf ../other", GUARD_ASK, RISK_HIGH },
	{ "touch /etc/x", GUARD_ASK, RISK_MEDIUM },
	{ "touch /no/such/directory/x", GUARD_ASK, RISK_MEDIUM },
	{ "touch no-such/../../../x", GUARD_ASK, RISK_MEDIUM },
	{ "mkdir -p new/directory", GUARD_SANDBOX, RISK_LOW },
	{ "dd if=a.txt of=/etc/x", GUARD_ASK, RISK_MEDIUM },
	{ "curl example.org", GUARD_ASK, RISK_MEDIUM },
	{ "git push", GUARD_ASK, RISK_MEDIUM },
	{ "pip install x", GUARD_ASK, RISK_MEDIUM },
	{ "cp a.txt out", GUARD_ASK, RISK_MEDIUM },
	/* Nobody's. */
	{ "cat home/.ssh/id_rsa", GUARD_DENY, RISK_HIGH },
	{ "cat key", GUARD_DENY, RISK_HIGH },
	{ "cat /etc/shadow", GUARD_DENY, RISK_HIGH },
	{ "cp /etc/shadow x", GUARD_DENY, RISK_HIGH },
	{ "ls share/aisbx", GUARD_DENY, RISK_CRITICAL },
	{ "dd if=a.txt of=share/aisbx/x", GUARD_DENY, RISK_CRITICAL },
};

static void split(const char *text, struct strv *ret_words)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		strv_take(ret_words, xstrndup(text, len));
		text += len + (text[len] == ' ');
	}
}

static void decide(const struct guard_request *like, const char *text,
		   struct guard_verdict *ret_verdict)
{
	owned(strv_done) struct strv words = STRV_INIT;
	struct guard_request request = *like;

	split(text, &words);
	request.command = &words;
	guard_decide(&request, ret_verdict);
}

static void test_rows(const struct guard_request *request)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(guard_verdict_done) struct guard_verdict verdict;

		decide(request, rows[i].command, &verdict);
		tap_is_str(guard_decision_name(verdict.decision),
			   guard_decision_name(rows[i].decision), "%s (%s)", rows[i].command,
			   verdict.reasons.count ? verdict.reasons.items[0] : "no reason");
		tap_ok(verdict.risk >= rows[i].at_least && verdict.reasons.count > 0,
		       "with a risk (%s) and a reason", guard_risk_name(verdict.risk));
	}
}

#define CANARY "canary-4711"

static void run_command(const char *dir, const char *command, int output_fd)
{
	owned(free_ptr) char *line = xasprintf("exec %s </dev/null 2>&1", command);

	if (chdir(dir) == 0 && dup2(output_fd, STDOUT_FILENO) >= 0)
		(void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	_exit(127);
}

/* Whether COMMAND, run in DIR, prints what lies in the credential. */
static bool prints_canary(const char *dir, const char *command)
{
	owned(fd_close) int output = memfd_create("output", MFD_CLOEXEC);
	owned(str_done) struct str text = STR_INIT;
	char part[4096];
	ssize_t got;
	pid_t pid = fork();

	if (pid == 0)
		run_command(dir, command, output);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid || lseek(output, 0, SEEK_SET) < 0)
		abort();
	while ((got = read(output, part, sizeof(part))) > 0)
		str_add_bytes(&text, part, (size_t)got);
	return strstr(str_cstr(&text), CANARY) != NULL;
}

/* Counts COMMAND if it may run directly; then it must not print the credential. */
static void try_directly(const struct guard_request *request, const char *command, unsigned *direct,
			 unsigned *printing)
{
	owned(guard_verdict_done) struct guard_verdict verdict;

	decide(request, command, &verdict);
	if (verdict.decision != GUARD_DIRECT)
		return;
	(*direct)++;
	if (prints_canary(request->cwd, command)) {
		(*printing)++;
		tap_ok(false, "%s prints a credential", command);
	}
}

/*
 * Every command that may run directly, with each of its options, over directories in which a link leads to a credential: what
 * prints it is not direct.
 */
static void test_links(const struct guard_request *request)
{
	static const char *const names[] = {
		"cat",	 "cmp",	  "comm", "cut",  "diff",    "egrep",	  "fgrep", "find",  "grep",
		"head",	 "join",  "nl",	  "od",	  "paste",   "tac",	  "tail",  "tsort", "wc",
		"sdiff", "diff3", "sort", "uniq", "strings", "colordiff", "rev",   "fold",
	};
	static const char *const operands[] = { "d1 d2", "x d1", "d1 x", "d1" };
	unsigned printing = 0, direct = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct reader_row *row = reader_find(names[i]);
		const char *letters = row ? row->letters : "";

		for (size_t at = 0; at <= 4 * strlen(letters) + 3; at++) {
			char option[] = { '-', letters[at / 4], ' ', '\0' };
			owned(free_ptr) char *command = xasprintf(
				"%s %s%s", names[i], option[1] ? option : "", operands[at % 4]);

			try_directly(request, command, &direct, &printing);
		}
	}
	tap_ok(direct > 100 && printing == 0,
	       "of %u that run directly over links to a credential none prints it", direct);
	tap_ok(prints_canary(request->cwd, "diff d1 d2") &&
		       prints_canary(request->cwd, "diff x d1"),
	       "as diff would");
}

static void test_plan_context(const struct guard_request *like, const char *dir)
{
	owned(guard_verdict_done) struct guard_verdict busy, planted, nowhere;
	/* Root's own directory is no better: whoever works in it can put an ls there. */
	owned(free_ptr) char *path = xasprintf("%s:/usr/bin:/bin", dir);
	struct guard_request request = *like;

	request.is_busy = true;
	decide(&request, "ls", &busy);
	tap_ok(busy.decision == GUARD_SANDBOX, "on a busy machine even ls goes into a sandbox");
	request.is_busy = false;
	request.path = path;
	decide(&request, "ls", &planted);
	tap_ok(planted.decision == GUARD_SANDBOX,
	       "an ls of somebody else's first on PATH is not run");
	request.path = "";
	decide(&request, "ls", &nowhere);
	tap_ok(nowhere.decision == GUARD_SANDBOX, "nor one that is not found");
}

static bool populate(const struct scratch *scratch)
{
	owned(free_ptr) char *file = scratch_write(scratch, "ws/a.txt", "text\n");
	owned(free_ptr) char *secret = scratch_write(scratch, "ws/home/.ssh/id_rsa", CANARY "\n");
	owned(free_ptr) char *planted = scratch_path(scratch, "ls");
	owned(free_ptr) char *key = scratch_path(scratch, "ws/key");
	owned(free_ptr) char *out = scratch_path(scratch, "ws/out");

	owned(free_ptr) char *link = scratch_path(scratch, "ws/d1/x");
	owned(free_ptr) char *other = scratch_write(scratch, "ws/d2/x", "other\n");
	owned(free_ptr) char *plain = scratch_write(scratch, "ws/x", "plain\n");

	scratch_mkdir(scratch, "ws/src");
	scratch_mkdir(scratch, "ws/share/aisbx");
	return file && secret && other && plain && symlink("../home/.ssh/id_rsa", link) == 0 &&
	       symlink("home/.ssh/id_rsa", key) == 0 && symlink("/etc/x", out) == 0 &&
	       symlink("/bin/true", planted) == 0;
}

int main(void)
{
	struct scratch scratch;

	scratch_open(&scratch);
	owned(free_ptr) char *workspace = scratch_path(&scratch, "ws");
	struct guard_request request = { .path = "/usr/bin:/bin",
					 .cwd = workspace,
					 .workspace = workspace,
					 .is_secret = is_secret,
					 .is_ours = is_ours };

	if (tap_ok(populate(&scratch), "a workspace stands")) {
		test_rows(&request);
		test_links(&request);
		test_plan_context(&request, scratch.dir);
	}
	scratch_close(&scratch);
	return tap_done();
}
