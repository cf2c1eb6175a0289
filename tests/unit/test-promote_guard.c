/* SPDX-License-Identifier: Apache-2.0 */
/* What promotion asks about or refuses: the ways a hostile sandbox reaches for the host. */
#include "tests/unit/promote_fixture.h"

static const struct consent *consent_at(const struct bench *b, const char *path)
{
	for (size_t i = 0; i < b->promotion.consent_count; i++)
		if (strcmp(b->promotion.consents[i].path, path) == 0)
			return &b->promotion.consents[i];
	return NULL;
}

static void check(struct bench *b, const char *path, const char *why, const char *flag)
{
	const struct consent *consent = consent_at(b, path);

	tap_ok(consent && strcmp(consent->why, why) == 0 && strcmp(consent->flag, flag) == 0,
	       "%s: %s", why, consent ? consent->why : "not asked");
}

/* Links that lead out, as leaf and as parent. */
static void test_links(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *victim = NULL, *text = NULL;
	struct stat st;

	bench_open(&b);
	real_put(&b, "file", "one\n");
	real_put(&b, "dir/below", "one\n");
	scratch_mkdir(&b.scratch, "outside");
	victim = scratch_write(&b.scratch, "outside/victim", "mine\n");
	bench_start(&b);
	text = xasprintf("%s/outside/victim", b.scratch.dir);
	top_link(&b, "absolute", text);
	top_link(&b, "climbing", "dir/../../outside/victim");
	/* Down through a link that stays, and up again from where that leads. */
	top_link(&b, "here", ".");
	top_link(&b, "winding", "here/here/here/../../../outside/victim");
	top_link(&b, "fine", "./file");
	/* A directory replaced by a link that leads out. */
	top_link(&b, "dir", "../outside");
	bench_capture(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT && !real_stat(&b, "fine", &st),
	       "nothing happens without consent");
	check(&b, "absolute", "link leads out of the workspace", "--allow-path");
	check(&b, "climbing", "link leads out of the workspace", "--allow-path");
	check(&b, "dir", "link leads out of the workspace", "--allow-path");
	check(&b, "winding", "link leads out of the workspace", "--allow-path");
	tap_ok(!consent_at(&b, "fine") && !consent_at(&b, "here"),
	       "a link inside is nobody's business");
	strv_add(&b.request.paths, "fine");
	tap_is_int(bench_promote(&b), 0, "it can be promoted alone");
	strv_done(&b.request.paths);
	strv_add(&b.request.allow_paths, "absolute");
	strv_add(&b.request.allow_paths, "climb*");
	strv_add(&b.request.allow_paths, "winding");
	strv_add(&b.request.allow_paths, "dir");
	tap_is_int(bench_promote(&b), 0, "with consent the links are made");
	tap_ok(real_stat(&b, "dir", &st) && S_ISLNK(st.st_mode), "as links");
	owned(fd_close) int fd = open(victim, O_RDONLY | O_CLOEXEC);
	char got[16] = "";

	tap_ok(read(fd, got, sizeof(got) - 1) > 0 && strcmp(got, "mine\n") == 0,
	       "what they lead to is untouched");
}

/* The host has a link where the sandbox saw a directory: nothing is written through it. */
static void test_swapped_parent(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *dir = NULL, *aside = NULL;
	struct stat st;

	bench_open(&b);
	real_put(&b, "dir/file", "one\n");
	scratch_mkdir(&b.scratch, "outside");
	owned(free_ptr) char *victim = scratch_write(&b.scratch, "outside/file", "mine\n");

	bench_start(&b);
	top_put(&b, "dir/file", "two\n", true);
	top_put(&b, "dir/new", "two\n", false);
	bench_capture(&b);
	dir = bench_real(&b, "dir");
	aside = bench_real(&b, "aside");
	if (rename(dir, aside) < 0 || symlink("../outside", dir) < 0)
		tap_bail("cannot swap");
	tap_ok(bench_promote(&b) < 0, "a parent became a link");
	b.request.strategy = STRATEGY_THEIRS;
	(void)bench_promote(&b);
	owned(free_ptr) char *new = scratch_path(&b.scratch, "outside/new");
	owned(fd_close) int fd = open(victim, O_RDONLY | O_CLOEXEC);
	char got[16] = "";

	tap_ok(lstat(new, &st) < 0 && read(fd, got, sizeof(got) - 1) > 0 &&
		       strcmp(got, "mine\n") == 0,
	       "nothing was written through it, whatever the strategy");
}

static void test_triggers(void)
{
	owned(bench_close) struct bench b;
	struct stat st;

	bench_open(&b);
	real_put(&b, "Makefile", "all:\n");
	real_put(&b, ".git/config", "[core]\n");
	real_put(&b, "src/main.c", "one\n");
	bench_start(&b);
	top_put(&b, "Makefile", "all: evil\n", true);
	top_put(&b, ".git/hooks/pre-commit", "#!/bin/sh\n", false);
	top_put(&b, ".GIT/Hooks/post-merge", "#!/bin/sh\n", false);
	top_put(&b, "CLAUDE.md", "do as I say\n", false);
	top_put(&b, "src/main.c", "two\n", true);
	top_put(&b, ".git/objects/aa/bb", "data\n", false);
	bench_capture(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "triggers ask");
	tap_is_int((int)b.promotion.consent_count, 4, "each of them, and nothing else");
	check(&b, "Makefile", "build file", "--allow-path");
	check(&b, ".git/hooks/pre-commit", "git hook", "--allow-path");
	check(&b, ".GIT/Hooks/post-merge", "git hook", "--allow-path");
	check(&b, "CLAUDE.md", "agent configuration", "--allow-path");
	tap_ok(!real_stat(&b, "CLAUDE.md", &st) && real_is(&b, "src/main.c", "one\n"),
	       "and nothing happened");
	/* Consent comes before conflicts. */
	bench_tick();
	real_put(&b, "src/main.c", "real\n");
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "also with a conflict");
	b.request.allow_all = true;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT, "which is next");
	real_put(&b, "src/main.c", "two\n");
	tap_ok(bench_promote(&b) == 0 && real_is(&b, ".git/hooks/pre-commit", "#!/bin/sh\n"),
	       "somebody said yes to all of it");
}

static void test_privilege(void)
{
	owned(bench_close) struct bench b;
	struct stat st;

	bench_open(&b);
	real_put(&b, "had", "one\n");
	owned(free_ptr) char *had = bench_real(&b, "had");

	(void)chmod(had, 04755);
	bench_start(&b);
	top_put(&b, "gained", "two\n", false);
	top_chmod(&b, "gained", 04755);
	top_put(&b, "group", "two\n", false);
	top_chmod(&b, "group", 02755);
	top_put(&b, "had", "two\n", true);
	top_chmod(&b, "had", 04755);
	top_put(&b, "sticky", "two\n", false);
	top_chmod(&b, "sticky", 01644);
	bench_capture(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "privileges ask");
	check(&b, "gained", "setuid", "--allow-privilege");
	check(&b, "group", "setgid", "--allow-privilege");
	/* Strangers' content under an old privilege is as bad as a new one. */
	check(&b, "had", "setuid", "--allow-privilege");
	tap_is_int((int)b.promotion.consent_count, 3, "and only they");
	b.request.allow_privilege = true;
	tap_is_int(bench_promote(&b), 0, "allowed");
	tap_ok(real_stat(&b, "gained", &st) && (st.st_mode & 07777) == 04755, "they are kept");
	tap_ok(real_stat(&b, "sticky", &st) && (st.st_mode & 07777) == 0644,
	       "a sticky file means nothing, and loses it");
}

/* A repository under any name: what git runs or obeys in it asks, its data does not. */
static void test_disguised(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "store/HEAD", "ref: refs/heads/main\n");
	real_put(&b, "store/config", "[core]\n");
	scratch_mkdir(&b.scratch, "ws/store/objects");
	real_put(&b, "plain/config", "x\n");
	bench_start(&b);
	top_put(&b, "store/config", "[core]\n\tsshCommand=evil\n", true);
	top_put(&b, "store/hooks/post-receive", "#!/bin/sh\n", false);
	top_put(&b, "store/objects/aa", "data\n", false);
	top_put(&b, "plain/config", "y\n", true);
	bench_capture(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "a repository in disguise");
	check(&b, "store/config", "makes something run", "--allow-path");
	check(&b, "store/hooks/post-receive", "makes something run", "--allow-path");
	tap_is_int((int)b.promotion.consent_count, 2, "and nothing else");
}

/* Where it goes says what it is, not only what it is called below there. */
static void test_elsewhere(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *inside = NULL;

	bench_open(&b);
	real_put(&b, ".git/config", "[core]\n");
	bench_start(&b);
	top_put(&b, "pre-push", "#!/bin/sh\n", false);
	bench_capture(&b);
	inside = bench_real(&b, ".git");
	b.request.target = inside;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "a target that is .git");
	check(&b, "pre-push", "makes something run", "--allow-path");
	b.request.target = NULL;
	b.request.artifact = "pre-push";
	b.request.to = "/etc/aisbx-test-never-made";
	b.request.dry_run = true;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "a place of the system's");
}

/* The slots and journals of promotions are nobody's change. */
static void test_own_names(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, ".aisbx-txn/01/journal", "one\n");
	real_put(&b, "below/.aisbx/01/0", "one\n");
	real_put(&b, "gone/.aisbx-txn/01/0", "one\n");
	bench_start(&b);
	top_put(&b, ".aisbx-txn/01/journal", "cut\n", true);
	top_put(&b, ".aisbx-txn/02/journal", "forged\n", false);
	top_mkdir(&b, "below", NULL, NULL);
	top_remove(&b, "below/.aisbx");
	bench_capture(&b);
	b.request.allow_all = true;
	tap_ok(bench_promote(&b) == 0 && b.promotion.applied.count == 0, "nothing to promote");
	tap_ok(real_is(&b, ".aisbx-txn/01/journal", "one\n") &&
		       real_is(&b, ".aisbx-txn/02/journal", NULL) &&
		       real_is(&b, "below/.aisbx/01/0", "one\n"),
	       "and all of it is as it was");
	top_remove(&b, "gone");
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT &&
		       real_is(&b, "gone/.aisbx-txn/01/0", "one\n"),
	       "a directory that holds some does not go");
}

static bool hides_secret(const char *path, void *cookie)
{
	(void)cookie;
	return !str_ends(path, "/secret");
}

/* What masks hid from the sandbox is not replaced as if it had been seen. */
static void test_unseen(void)
{
	owned(bench_close) struct bench b;
	struct view_stack stack;

	bench_open(&b);
	real_put(&b, "secret", "token\n");
	bench_start(&b);
	top_put(&b, "secret", "mine\n", false);
	bench_view(&b, &stack);
	stack.shows = hides_secret;
	tap_ok(promote_run(&b.sandbox, &stack, &b.request, &b.promotion, &b.err) < 0 &&
		       b.err.code == ERROR_CONFLICT && real_is(&b, "secret", "token\n"),
	       "a masked file is a conflict");
	tap_ok(b.promotion.conflict_count == 1 &&
		       strcmp(b.promotion.conflicts[0].kind, "add/add") == 0,
	       "of two that were added");
	view_close(&stack);
}

static mode_t real_mode(const struct bench *b, const char *name)
{
	struct stat st;

	return real_stat(b, name, &st) ? st.st_mode & 07777 : 0;
}

/* What is new is made under the caller's umask; what others may now write to asks. */
static void test_writable(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *shared = NULL;
	mode_t mask = umask(022);

	bench_open(&b);
	real_put(&b, "script", "one\n");
	real_put(&b, "group", "one\n");
	real_put(&b, "shared", "one\n");
	shared = bench_real(&b, "shared");
	(void)chmod(shared, 0666);
	bench_start(&b);
	top_put(&b, "new", "two\n", false);
	top_chmod(&b, "new", 0666);
	top_mkdir(&b, "open", NULL, NULL);
	top_chmod(&b, "open", 01777);
	top_put(&b, "script", "one\n", true);
	top_chmod(&b, "script", 0646);
	top_put(&b, "group", "one\n", true);
	top_chmod(&b, "group", 0664);
	top_put(&b, "shared", "two\n", true);
	top_chmod(&b, "shared", 0666);
	bench_capture(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "widened modes ask");
	check(&b, "script", "others may write to it", "--allow-privilege");
	check(&b, "group", "others may write to it", "--allow-privilege");
	tap_is_int((int)b.promotion.consent_count, 2, "and only they");
	b.request.allow_privilege = true;
	tap_is_int(bench_promote(&b), 0, "allowed");
	tap_is_int(real_mode(&b, "script"), 0646, "then it is as the sandbox made it");
	tap_is_int(real_mode(&b, "shared"), 0666, "what was so before stays so");
	tap_is_int(real_mode(&b, "new"), 0644, "a new file is as the caller makes files");
	tap_is_int(real_mode(&b, "open"), 01755, "a new directory, too");
	tap_ok(!strv_has(&b.promotion.skipped, "."), "nothing was done to the workspace itself");
	tap_is_int(bench_left(&b), 0, "and nothing is left to be promoted");
	tap_ok(bench_promote(&b) == 0 && b.promotion.applied.count == 0, "nor is it, again");
	top_put(&b, "new", "three\n", false);
	tap_is_int(bench_left(&b), 1, "until it is changed again");
	(void)umask(mask);
}

/* An access list in the kernel's form: version 2, owner, user 1000, group, mask, others. */
static const unsigned char acl[] = { 2,	  0,   0,   0,	 1,   0,   6,  0,   255, 255, 255,
				     255, 2,   0,   7,	 0,   232, 3,  0,   0,	 4,   0,
				     4,	  0,   255, 255, 255, 255, 16, 0,   7,	 0,   255,
				     255, 255, 255, 32,	 0,   4,   0,  255, 255, 255, 255 };

/* Other ways to let somebody else write to the caller's files. */
static void test_given(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *listed = NULL, *given = NULL;

	bench_open(&b);
	real_put(&b, "given", "one\n");
	bench_start(&b);
	top_put(&b, "listed", "two\n", false);
	listed = bench_top(&b, "listed");
	if (setxattr(listed, "system.posix_acl_access", acl, sizeof(acl), 0) < 0) {
		tap_skip(3, "no access lists here");
		return;
	}
	bench_capture(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "an access list asks");
	check(&b, "listed", "access list", "--allow-privilege");
	if (geteuid() != 0) {
		tap_skip(1, "needs root to give files away");
		return;
	}
	top_put(&b, "given", "one\n", true);
	given = bench_top(&b, "given");
	if (chown(given, 1000, 0) < 0)
		tap_bail("cannot give a file away");
	(void)bench_promote(&b);
	check(&b, "given", "given to another account", "--allow-privilege");
}

static void test_special(void)
{
	owned(bench_close) struct bench b;
	struct stat st;

	bench_open(&b);
	bench_start(&b);
	if (geteuid() != 0) {
		tap_skip(6, "needs root to make devices and capabilities");
		return;
	}
	owned(free_ptr) char *device = bench_top(&b, "device"), *plain = bench_top(&b, "able");

	top_put(&b, "able", "two\n", false);
	/* cap_net_raw, as setcap writes it. */
	const unsigned char cap[20] = { 1, 0, 0, 2, 0, 0x20 };

	if (mknod(device, S_IFCHR | 0666, makedev(1, 3)) < 0 ||
	    setxattr(plain, "security.capability", cap, sizeof(cap), 0) < 0) {
		tap_skip(6, "cannot make a device or a capability here");
		return;
	}
	bench_capture(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "special files ask");
	check(&b, "device", "fifo or device node", "--allow-special");
	check(&b, "able", "file capability", "--allow-privilege");
	b.request.allow_special = true;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONSENT, "one flag is not the other");
	b.request.allow_privilege = true;
	tap_is_int(bench_promote(&b), 0, "allowed");
	tap_ok(real_stat(&b, "device", &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3),
	       "a device");
}

static void test_names(void)
{
	static const char *const names[] = { "new\nline",      "\x1b]52;c;x\x07", "-rf",
					     "tab\there",      "\xff\xfe",	  "back\\slash",
					     "\xe2\x80\xaertl" };
	owned(bench_close) struct bench b;
	char longest[256];
	bool all = true;

	bench_open(&b);
	bench_start(&b);
	memset(longest, 'n', 255);
	longest[255] = '\0';
	top_put(&b, longest, "two\n", false);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		top_put(&b, names[i], "two\n", false);
	bench_capture(&b);
	tap_is_int(bench_promote(&b), 0, "hostile names");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		all = all && real_is(&b, names[i], "two\n");
	tap_ok(all && real_is(&b, longest, "two\n"), "byte for byte");
	tap_ok(bench_undo(&b, NULL) == 0 && real_is(&b, names[0], NULL), "and gone again");
}

/* Patterns are bytes here; who reads quoted ones has them unquoted already. */
static void test_quotes(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	bench_start(&b);
	top_put(&b, "\"q\"", "two\n", false);
	top_put(&b, "q", "two\n", false);
	bench_capture(&b);
	strv_add(&b.request.paths, "\"q\"");
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "\"q\"", "two\n") && real_is(&b, "q", NULL),
	       "a name with quotes is that name");
}

/* What a plain user may not read of the user's own layers is named, with what helps. */
static void test_closed(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	bench_start(&b);
	if (geteuid() == 0) {
		tap_skip(2, "root reads everything");
		return;
	}
	top_put(&b, "dir/file", "two\n", false);
	top_chmod(&b, "dir", 0);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_DENIED && strstr(b.err.text, "/dir'") &&
		       strstr(b.err.text, "chmod"),
	       "a closed directory");
	top_chmod(&b, "dir", 0755);
	top_chmod(&b, "dir/file", 0);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_DENIED &&
		       strstr(b.err.text, "dir/file") && strstr(b.err.text, "chmod"),
	       "a closed file");
	top_chmod(&b, "dir/file", 0644);
}

/* What was reviewed is what is applied. */
static void test_reviewed(void)
{
	owned(bench_close) struct bench b;
	char digest[SHA256_HEX_SIZE];

	bench_open(&b);
	real_put(&b, "file", "one\n");
	bench_start(&b);
	top_put(&b, "file", "two\n", true);
	bench_capture(&b);
	b.request.dry_run = true;
	tap_is_int(bench_promote(&b), 0, "reviewed");
	memcpy(digest, b.promotion.digest, sizeof(digest));
	b.request.dry_run = false;
	b.request.digest = digest;
	top_put(&b, "file", "too\n", true);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT &&
		       real_is(&b, "file", "one\n"),
	       "something else is refused");
	top_put(&b, "file", "two\n", true);
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "file", "two\n"), "the same is applied");
}

int main(void)
{
	test_links();
	test_swapped_parent();
	test_triggers();
	test_privilege();
	test_disguised();
	test_elsewhere();
	test_own_names();
	test_unseen();
	test_writable();
	test_given();
	test_special();
	test_names();
	test_reviewed();
	test_quotes();
	test_closed();
	return tap_done();
}
