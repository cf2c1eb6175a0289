/* Guard: what runs directly, what belongs into a sandbox, what needs a person, what is refused. */
#include "decide/guard/guard.h"

#include "base/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

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
	{ "find . -fprint out", GUARD_SANDBOX, RISK_LOW },
	{ "date 010100002030", GUARD_SANDBOX, RISK_LOW },
	{ "date -s now", GUARD_SANDBOX, RISK_LOW },
	{ "tail -f a.txt", GUARD_SANDBOX, RISK_LOW },
	{ "uniq a.txt b.txt", GUARD_SANDBOX, RISK_LOW },
	{ "sort -o b.txt a.txt", GUARD_SANDBOX, RISK_LOW },
	{ "grep -r word /usr", GUARD_SANDBOX, RISK_LOW },
	{ "grep -R word .", GUARD_SANDBOX, RISK_LOW },
	{ "diff -r src home", GUARD_SANDBOX, RISK_LOW },
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

static void test_surroundings(const struct guard_request *like, const char *dir)
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

static bool furnish(const struct scratch *scratch)
{
	owned(free_ptr) char *file = scratch_write(scratch, "ws/a.txt", "text\n");
	owned(free_ptr) char *secret = scratch_write(scratch, "ws/home/.ssh/id_rsa", "key\n");
	owned(free_ptr) char *planted = scratch_path(scratch, "ls");
	owned(free_ptr) char *key = scratch_path(scratch, "ws/key");
	owned(free_ptr) char *out = scratch_path(scratch, "ws/out");

	scratch_mkdir(scratch, "ws/src");
	scratch_mkdir(scratch, "ws/share/aisbx");
	return file && secret && symlink("home/.ssh/id_rsa", key) == 0 &&
	       symlink("/etc/x", out) == 0 && symlink("/bin/true", planted) == 0;
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

	if (tap_ok(furnish(&scratch), "a workspace stands")) {
		test_rows(&request);
		test_surroundings(&request, scratch.dir);
	}
	scratch_close(&scratch);
	return tap_done();
}
