/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts copied out of a sandbox, promotions to other places, snapshots, and what a killed process left. */
#include "tests/unit/promote_fixture.h"
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

#include <sys/wait.h>

static void test_artifact(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *to = NULL, *other = NULL, *tree = NULL, *outside = NULL;
	struct stat st;

	bench_open(&b);
	real_put(&b, "unchanged", "base\n");
	real_put(&b, "dist/old", "base\n");
	real_put(&b, "dist/removed", "base\n");
	bench_start(&b);
	top_put(&b, "new.txt", "built\n", false);
	top_put(&b, "dist/sub/deep", "built\n", false);
	top_remove(&b, "dist/removed");
	bench_capture(&b);
	to = xasprintf("%s/out/bin/", b.workspace);
	b.request.artifact = "new.txt";
	b.request.to = to;
	b.request.dry_run = true;
	tap_ok(bench_promote(&b) == 0 && !real_stat(&b, "out", &st), "a dry run");
	b.request.dry_run = false;
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "out/bin/new.txt", "built\n"),
	       "into a directory that is not there yet");
	tap_ok(real_is(&b, "new.txt", NULL) && real_is(&b, "dist/removed", "base\n"),
	       "nothing else");
	top_put(&b, "new.txt", "again\n", false);
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "out/bin/new.txt", "again\n"), "over it");
	tap_ok(bench_undo(&b, NULL) == 0 && real_is(&b, "out/bin/new.txt", "built\n") &&
		       bench_undo(&b, NULL) == 0 && !real_stat(&b, "out", &st),
	       "undone, one after the other");
	outside = xasprintf("%s/elsewhere", b.scratch.dir);
	b.request.artifact = "unchanged";
	b.request.to = outside;
	tap_is_int(bench_promote(&b), 0, "a file of the host, under another name, elsewhere");
	other = scratch_path(&b.scratch, "elsewhere");
	tap_ok(stat(other, &st) == 0 && st.st_size == 5, "is there");
	tree = xasprintf("%s/tree", b.scratch.dir);
	b.request.artifact = "dist";
	b.request.to = tree;
	tap_is_int(bench_promote(&b), 0, "a directory");
	owned(free_ptr) char *deep = xasprintf("%s/sub/deep", tree);
	owned(free_ptr) char *old = xasprintf("%s/old", tree);
	owned(free_ptr) char *removed = xasprintf("%s/removed", tree);

	tap_ok(stat(deep, &st) == 0 && stat(old, &st) == 0 && stat(removed, &st) < 0,
	       "as the sandbox sees it");
	b.request.artifact = "dist/removed";
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_NOT_FOUND,
	       "what it removed is not there");
	b.request.artifact = "../x";
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_USAGE, "no way up");
	b.request.artifact = "new.txt";
	b.request.to = NULL;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_USAGE, "a place is needed");
}

/* A relative place is one below the current directory, never below / for want of it. Nothing is applied: it is a dry run. */
static void test_nowhere(void)
{
	owned(bench_close) struct bench b;
	owned(fd_close) int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned(free_ptr) char *whole = NULL, *gone = NULL;

	bench_open(&b);
	bench_start(&b);
	top_put(&b, "new.txt", "built\n", false);
	bench_capture(&b);
	scratch_mkdir(&b.scratch, "gone");
	gone = scratch_path(&b.scratch, "gone");
	if (before < 0 || chdir(gone) < 0 || rmdir(gone) < 0)
		tap_bail("a directory that is gone");
	whole = xasprintf("%s/goal", b.scratch.dir);
	b.request.artifact = "new.txt";
	b.request.dry_run = true;
	b.request.to = "goal";
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_HOST &&
		       strstr(b.err.text, "was removed"),
	       "from a directory that was removed there is no way to a relative place");
	b.request.to = whole;
	tap_is_int(bench_promote(&b), 0, "but to a whole path");
	(void)fchdir(before);
}

/* Another copy of the tree as target. */
static void test_target(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *target = NULL, *edited = NULL, *same = NULL;
	char text[32] = "";

	bench_open(&b);
	real_put(&b, "edited", "one\n");
	real_put(&b, "diverged", "one\n");
	edited = scratch_write(&b.scratch, "stage/edited", "one\n");
	same = scratch_write(&b.scratch, "stage/diverged", "another\n");
	target = xasprintf("%s/stage", b.scratch.dir);
	bench_start(&b);
	top_put(&b, "edited", "two\n", true);
	top_put(&b, "diverged", "two\n", true);
	bench_capture(&b);
	b.request.target = target;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT,
	       "the target differs from the base");
	strv_add(&b.request.paths, "edited");
	tap_is_int(bench_promote(&b), 0, "where it does not, it is applied");
	owned(fd_close) int fd = open(edited, O_RDONLY | O_CLOEXEC);

	tap_ok(read(fd, text, sizeof(text) - 1) == 4 && strcmp(text, "two\n") == 0 &&
		       real_is(&b, "edited", "one\n"),
	       "there, and not in the workspace");
	b.request.target = "/nonexistent/place";
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_NOT_FOUND, "no such target");
}

/* A process that is killed while it promotes, found by the next command. */
static void test_killed(void)
{
	int old = 0, new = 0, mixed = 0;

	for (long delay_us = 0; delay_us < 24000; delay_us += 600) {
		owned(bench_close) struct bench b;
		struct strv notes = STRV_INIT;
		bool is_old, is_new;
		pid_t child;

		bench_open(&b);
		for (int i = 0; i < 8; i++) {
			owned(free_ptr) char *name = xasprintf("f%d", i);

			real_put(&b, name, "old\n");
		}
		bench_start(&b);
		for (int i = 0; i < 8; i++) {
			owned(free_ptr) char *name = xasprintf("f%d", i);

			top_put(&b, name, "new\n", true);
		}
		bench_capture(&b);
		child = fork();
		if (child == 0)
			_exit(bench_promote(&b) < 0);
		const struct timespec pause = { .tv_nsec = delay_us * 1000 };

		(void)nanosleep(&pause, NULL);
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
		if (promotion_recover(&b.store, &notes, &b.err) < 0)
			tap_bail(b.err.text);
		strv_done(&notes);
		is_old = is_new = true;
		for (int i = 0; i < 8; i++) {
			owned(free_ptr) char *name = xasprintf("f%d", i);
			owned(free_ptr) char *path = bench_real(&b, name);
			owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
			char text[8] = "";

			(void)!read(fd, text, sizeof(text) - 1);
			is_old = is_old && strcmp(text, "old\n") == 0;
			is_new = is_new && strcmp(text, "new\n") == 0;
		}
		old += is_old;
		new += is_new;
		mixed += !is_old && !is_new;
		if (promotion_recover(&b.store, &notes, &b.err) < 0 || notes.count != 0)
			mixed++;
		if (is_new && (bench_undo(&b, NULL) < 0 || !real_is(&b, "f0", "old\n")))
			mixed++;
	}
	printf("# %d old, %d new\n", old, new);
	tap_is_int(mixed, 0, "killed at any moment it is old or new, and can be undone when new");
}

static void test_snapshot(void)
{
	owned(bench_close) struct bench b;
	struct snapshot_request request = { 0 };
	struct snapshot snapshot;
	struct view_stack stack;

	bench_open(&b);
	real_put(&b, "file", "one\n");
	bench_start(&b);
	top_put(&b, "file", "two\n", true);
	bench_capture(&b);
	sandbox_close(&b.sandbox);
	if (sandbox_open(&b.store, "box", SANDBOX_EXCLUSIVE, &b.sandbox, &b.err) < 0 ||
	    snapshot_take(&b.sandbox, &request, &snapshot, &b.err) < 0)
		tap_bail(b.err.text);
	owned(fd_close) int upper_fd = -1;

	if (sandbox_open_upper(&b.sandbox, &upper_fd, &b.err) < 0 ||
	    layer_units_add(upper_fd, b.workspace, &b.err) < 0)
		tap_bail(b.err.text);
	(void)mkdirat(upper_fd, b.unit, 0755);
	top_put(&b, "file", "three\n", true);
	bench_capture(&b);
	if (view_open(&b.store, snapshot.layer, -1, &stack, &b.err) < 0)
		tap_bail(b.err.text);
	b.request.snapshot = snapshot.name;
	tap_ok(promote_run(&b.sandbox, &stack, &b.request, &b.promotion, &b.err) == 0 &&
		       real_is(&b, "file", "two\n"),
	       "a snapshot is promoted");
	view_close(&stack);
	snapshot_done(&snapshot);
	b.request.snapshot = NULL;
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "file", "three\n"), "then the present");
}

/* What a crash of the machine cut short is never promoted. */
static void test_torn(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "file", "one\n");
	bench_start(&b);
	top_put(&b, "file", "two\n", true);
	memset(b.sandbox.upper_boot_id, 'x', 36);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_DENIED && real_is(&b, "file", "one\n"),
	       "a torn top");
}

int main(void)
{
	test_artifact();
	test_nowhere();
	test_target();
	test_snapshot();
	test_torn();
	test_killed();
	return tap_done();
}
