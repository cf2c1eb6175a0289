/* SPDX-License-Identifier: Apache-2.0 */
/* Promotion from layers made by hand: applied, listed, undone; selection, renames, kinds of objects. */
#include "workspace/promote/promotions.h"
#include "tests/unit/killed.h"
#include "tests/unit/promote_fixture.h"

static void test_thin(void)
{
	owned(bench_close) struct bench b;
	struct promotion_record *records = NULL;
	size_t count = 0;

	bench_open(&b);
	real_put(&b, "edited", "one\n");
	real_put(&b, "gone", "one\n");
	real_put(&b, "dir/below", "one\n");
	bench_start(&b);
	top_put(&b, "edited", "two\n", true);
	top_put(&b, "new", "two\n", false);
	top_put(&b, "made/sub/file", "two\n", false);
	top_remove(&b, "gone");
	bench_capture(&b);
	tap_is_int(bench_changes(&b), 6, "changes before");
	b.request.dry_run = true;
	tap_is_int(bench_promote(&b), 0, "a dry run");
	tap_ok(real_is(&b, "edited", "one\n") && real_is(&b, "gone", "one\n") &&
		       b.promotion.applied.count == 6 && !b.promotion.id[0],
	       "changes nothing, and says what it would");
	b.request.dry_run = false;
	tap_is_int(bench_promote(&b), 0, "promoted");
	tap_ok(real_is(&b, "edited", "two\n") && real_is(&b, "new", "two\n") &&
		       real_is(&b, "made/sub/file", "two\n") && real_is(&b, "gone", NULL) &&
		       real_is(&b, "dir/below", "one\n"),
	       "the host is what the sandbox had");
	tap_is_int(bench_changes(&b), 0, "nothing is left to promote");
	tap_ok(promotion_list(&b.store, b.workspace, &records, &count, &b.err) == 0 && count == 1 &&
		       strcmp(records[0].state, "live") == 0 && records[0].paths.count == 6 &&
		       records[0].files == 4,
	       "it is listed");
	promotion_records_free(records, count);
	tap_is_int(bench_undo(&b, NULL), 0, "undone");
	tap_ok(real_is(&b, "edited", "one\n") && real_is(&b, "new", NULL) &&
		       real_is(&b, "made/sub/file", NULL) && real_is(&b, "gone", "one\n"),
	       "the host is what it was");
	tap_ok(bench_undo(&b, b.promotion.id) < 0 && b.err.code == ERROR_CONFLICT,
	       "undoing twice is refused");
	tap_ok(bench_undo(&b, NULL) < 0 && b.err.code == ERROR_NOT_FOUND, "nothing else to undo");
	tap_ok(bench_undo(&b, "zz") < 0 && b.err.code == ERROR_NOT_FOUND, "no such promotion");
	tap_is_int(bench_promote(&b), 0, "and promoted again");
	tap_ok(real_is(&b, "edited", "two\n") && real_is(&b, "gone", NULL), "as before");
	bench_tick();
	real_put(&b, "edited", "later\n");
	tap_ok(bench_undo(&b, NULL) < 0 && b.err.code == ERROR_CONFLICT &&
		       real_is(&b, "gone", NULL),
	       "what was edited since is not undone, nor anything else");
	tap_is_int(bench_promote(&b), 0, "the host moved on, the sandbox did not");
	tap_ok(real_is(&b, "edited", "later\n") && b.promotion.applied.count == 0,
	       "nothing to promote: the edit stays");
}

/* A large file whose content is not kept counts as untouched after an undo, too. */
static void test_undo_large(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *big = malloc((3u << 20) + 1);
	struct stat before, after;

	if (!big)
		tap_bail("out of memory");
	memset(big, 'x', 3u << 20);
	big[3u << 20] = '\0';
	bench_open(&b);
	real_put(&b, "large", big);
	bench_start(&b);
	top_put(&b, "large", "small now\n", true);
	bench_capture(&b);
	real_stat(&b, "large", &before);
	tap_ok(bench_promote(&b) == 0 && bench_undo(&b, NULL) == 0, "promoted and undone");
	real_stat(&b, "large", &after);
	tap_ok(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec,
	       "the same file is back");
	tap_is_int(bench_promote(&b), 0, "and can be promoted again");
}

static void test_selection(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "a.txt", "one\n");
	real_put(&b, "b.c", "one\n");
	real_put(&b, "dir/old", "moved content\n");
	bench_start(&b);
	top_put(&b, "a.txt", "two\n", true);
	top_put(&b, "b.c", "two\n", true);
	top_put(&b, "new/deep/file", "two\n", false);
	top_put(&b, "new/other", "two\n", false);
	top_put(&b, "caf\xc3\xa9 [1]", "two\n", false);
	top_put(&b, "dir/renamed", "moved content\n", true);
	top_remove(&b, "dir/old");
	bench_capture(&b);
	strv_add(&b.request.paths, "*.txt");
	strv_add(&b.request.paths, "new/deep/file");
	tap_is_int(bench_promote(&b), 0, "two of them");
	tap_ok(real_is(&b, "a.txt", "two\n") && real_is(&b, "b.c", "one\n") &&
		       real_is(&b, "new/deep/file", "two\n") && real_is(&b, "new/other", NULL),
	       "with the directories they need, and no more");
	strv_done(&b.request.paths);
	strv_add(&b.request.paths, "caf\xc3\xa9 [1]");
	tap_is_int(bench_promote(&b), 0, "a name as lists print it");
	tap_ok(real_is(&b, "caf\xc3\xa9 [1]", "two\n"), "is the file");
	strv_done(&b.request.paths);
	strv_add(&b.request.paths, "dir/old");
	tap_is_int(bench_promote(&b), 0, "half a rename");
	tap_ok(real_is(&b, "dir/renamed", "moved content\n") && real_is(&b, "dir/old", NULL),
	       "takes the other half along");
	strv_done(&b.request.paths);
	strv_add(&b.request.paths, "nothing/here");
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_NOT_FOUND, "an unknown path");
	strv_done(&b.request.paths);
	strv_add(&b.request.paths, "/etc/passwd");
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_DENIED, "a path outside");
	strv_done(&b.request.paths);
	tap_is_int(bench_promote(&b), 0, "the rest");
	tap_ok(real_is(&b, "b.c", "two\n") && real_is(&b, "new/other", "two\n") &&
		       bench_changes(&b) == 0,
	       "then all is promoted");
}

static void test_renamed_directory(void)
{
	owned(bench_close) struct bench b;
	struct stat before, after;

	bench_open(&b);
	real_put(&b, "old/a", "one\n");
	real_put(&b, "old/sub/b", "one\n");
	bench_start(&b);
	top_mkdir(&b, "new", "redirect", "old");
	top_put(&b, "new/a", "two\n", true);
	top_put(&b, "new/added", "two\n", false);
	top_remove(&b, "old");
	bench_capture(&b);
	bench_tick();
	real_put(&b, "old/later", "the host's\n");
	real_stat(&b, "old/sub/b", &before);
	tap_is_int(bench_promote(&b), 0, "a renamed directory");
	tap_ok(real_is(&b, "new/a", "two\n") && real_is(&b, "new/added", "two\n") &&
		       real_is(&b, "new/sub/b", "one\n") && real_is(&b, "old/a", NULL),
	       "is renamed on the host, edits and all");
	tap_ok(real_is(&b, "new/later", "the host's\n"), "what the host put into it went along");
	tap_ok(real_stat(&b, "new/sub/b", &after) && before.st_ino == after.st_ino,
	       "files keep their inodes");
	tap_is_int(bench_undo(&b, NULL), 0, "undone");
	tap_ok(real_is(&b, "old/a", "one\n") && real_is(&b, "old/sub/b", "one\n") &&
		       real_is(&b, "old/later", "the host's\n") && real_is(&b, "new/a", NULL),
	       "it is back where it was");
	real_put(&b, "new/taken", "in the way\n");
	b.request.strategy = STRATEGY_THEIRS;
	tap_is_int(bench_promote(&b), 0, "the new name is taken: entry by entry");
}

/* The directory it comes into takes a file's place: that is no place to rename into before. */
static void test_renamed_into_replaced(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "file", "one\n");
	real_put(&b, "dir/a", "one\n");
	bench_start(&b);
	top_mkdir(&b, "file", "opaque", "y");
	top_mkdir(&b, "file/dir", "redirect", "/dir");
	top_remove(&b, "dir");
	bench_capture(&b);
	tap_is_int(bench_promote(&b), 0, "a directory renamed into what was a file");
	tap_ok(real_is(&b, "file/dir/a", "one\n") && real_is(&b, "dir/a", NULL) &&
		       bench_changes(&b) == 0,
	       "is there");
	tap_ok(bench_undo(&b, NULL) == 0 && real_is(&b, "dir/a", "one\n") &&
		       real_is(&b, "file", "one\n"),
	       "and undone");
}

/* Renamed, promoted, sealed, undone: the sandbox still shows what it showed. */
static void test_renamed_and_sealed(void)
{
	owned(bench_close) struct bench b;
	struct snapshot_request request = { 0 };
	struct snapshot snapshot;

	bench_open(&b);
	real_put(&b, "old/a", "one\n");
	bench_start(&b);
	top_mkdir(&b, "new", "redirect", "old");
	top_remove(&b, "old");
	bench_capture(&b);
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "new/a", "one\n") && bench_changes(&b) == 0,
	       "promoted, and the sandbox shows it from its new place");
	sandbox_close(&b.sandbox);
	if (sandbox_open(&b.store, "box", SANDBOX_EXCLUSIVE, &b.sandbox, &b.err) < 0 ||
	    snapshot_take(&b.sandbox, &request, &snapshot, &b.err) < 0)
		tap_bail(b.err.text);
	snapshot_done(&snapshot);
	tap_ok(bench_undo(&b, NULL) == 0 && real_is(&b, "old/a", "one\n"), "sealed and undone");
	tap_is_int(bench_changes(&b), 1, "it is a rename again");
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "new/a", "one\n") &&
		       real_is(&b, "old/a", NULL),
	       "and promoted again");
}

static void test_kinds(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *first = NULL, *second = NULL, *pipe = NULL;
	struct stat one, two;

	bench_open(&b);
	real_put(&b, "file", "one\n");
	real_put(&b, "tree/x", "one\n");
	real_put(&b, "tree/y/z", "one\n");
	real_put(&b, "mode", "one\n");
	bench_start(&b);
	/* A file becomes a directory, a directory a link. */
	top_mkdir(&b, "file", NULL, NULL);
	top_put(&b, "file/inside", "two\n", false);
	top_link(&b, "tree", "file/inside");
	top_put(&b, "mode", "one\n", true);
	top_chmod(&b, "mode", 0750);
	top_put(&b, "first", "linked\n", false);
	first = bench_top(&b, "first");
	second = bench_top(&b, "other/second");
	pipe = bench_top(&b, "pipe");
	if (link(first, second) < 0 || mkfifo(pipe, 0640) < 0)
		tap_bail("cannot make objects");
	top_put(&b, "both/a", "twin\n", false);
	free_ptr(&first);
	free_ptr(&second);
	first = bench_top(&b, "both/a");
	second = bench_top(&b, "both/b");
	if (link(first, second) < 0)
		tap_bail("cannot link");
	bench_capture(&b);
	b.request.allow_special = true;
	tap_is_int(bench_promote(&b), 0, "kinds of objects");
	tap_ok(real_is(&b, "file/inside", "two\n"), "a file became a directory");
	tap_ok(real_stat(&b, "tree", &one) && S_ISLNK(one.st_mode), "a directory became a link");
	tap_ok(real_stat(&b, "mode", &one) && (one.st_mode & 07777) == 0750, "a mode");
	tap_ok(real_stat(&b, "pipe", &one) && S_ISFIFO(one.st_mode), "a pipe");
	tap_ok(real_stat(&b, "both/a", &one) && real_stat(&b, "both/b", &two) &&
		       one.st_ino == two.st_ino,
	       "two names of one file stay that");
	tap_is_int(bench_changes(&b), 0, "nothing is left");
	tap_is_int(bench_undo(&b, NULL), 0, "undone");
	tap_ok(real_is(&b, "file", "one\n") && real_is(&b, "tree/y/z", "one\n") &&
		       real_stat(&b, "mode", &one) && (one.st_mode & 07777) == 0644 &&
		       !real_stat(&b, "pipe", &one),
	       "all as it was");
}

/* Another name of an edited file keeps what it had. */
static void test_hard_link(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *a = NULL, *other = NULL;

	bench_open(&b);
	real_put(&b, "a", "one\n");
	a = bench_real(&b, "a");
	other = bench_real(&b, "b");
	if (link(a, other) < 0)
		tap_bail("cannot link");
	bench_start(&b);
	top_put(&b, "a", "two\n", false);
	bench_capture(&b);
	tap_is_int(bench_promote(&b), 0, "a file with two names");
	tap_ok(real_is(&b, "a", "two\n") && real_is(&b, "b", "one\n"),
	       "the other keeps its content");
}

static void top_name(const struct bench *b, const char *from, const char *to)
{
	owned(free_ptr) char *old = bench_top(b, from), *new = bench_top(b, to);

	if (link(old, new) < 0)
		tap_bail("cannot link");
}

static bool is_one(const struct bench *b, const char *name, const char *other)
{
	struct stat one, two;

	return real_stat(b, name, &one) && real_stat(b, other, &two) && one.st_ino == two.st_ino;
}

/* Names made inside for files that did not change, and among those that did. */
static void test_names(void)
{
	owned(bench_close) struct bench b;
	struct stat before, after;

	bench_open(&b);
	real_put(&b, "a", "one\n");
	real_put(&b, "same", "one\n");
	real_put(&b, "other", "two\n");
	real_put(&b, "Makefile", "all:\n");
	bench_start(&b);
	top_put(&b, "a", "one\n", true);
	top_name(&b, "a", "second");
	top_mkdir(&b, "dir", NULL, NULL);
	top_name(&b, "a", "dir/third");
	top_name(&b, "a", "other");
	top_name(&b, "a", "same");
	top_put(&b, "Makefile", "all:\n", true);
	top_name(&b, "Makefile", "harmless");
	top_put(&b, "dir/x", "new\n", false);
	top_name(&b, "dir/x", "y");
	top_mkdir(&b, "dir2", NULL, NULL);
	top_name(&b, "dir/x", "dir2/z");
	bench_capture(&b);
	tap_ok(real_stat(&b, "a", &before) && bench_promote(&b) == 0, "names of files");
	tap_ok(is_one(&b, "a", "second") && is_one(&b, "a", "dir/third"),
	       "new names of a file that did not change");
	tap_ok(is_one(&b, "a", "other") && is_one(&b, "a", "same"),
	       "in the place of other files, also of one with the same content");
	tap_ok(real_stat(&b, "a", &after) && after.st_ino == before.st_ino && after.st_nlink == 5,
	       "it stays what it was");
	tap_ok(real_is(&b, "harmless", "all:\n") && !is_one(&b, "harmless", "Makefile"),
	       "what makes something run gets no second name");
	tap_ok(is_one(&b, "dir/x", "y") && is_one(&b, "dir/x", "dir2/z"),
	       "one new file in two new directories and beside them");
	tap_is_int(bench_left(&b), 0, "nothing is left");
	tap_is_int(bench_undo(&b, NULL), 0, "undone");
	tap_ok(real_is(&b, "other", "two\n") && real_is(&b, "same", "one\n") &&
		       !is_one(&b, "a", "same") && real_stat(&b, "a", &after) &&
		       after.st_ino == before.st_ino && after.st_nlink == 1 &&
		       real_is(&b, "second", NULL) && real_is(&b, "y", NULL),
	       "all as it was");
}

static void undo_newest(void *cookie)
{
	(void)bench_undo(cookie, NULL);
}

/* Whoever finishes an undo that was killed gives up the names that it had brought. */
static void test_names_killed(void)
{
	owned(bench_close) struct bench b;
	unsigned step = tap_size(11, 5, 1), undone = 0, bad = 0, at;
	enum killed killed = KILLED_KILLED;
	struct stat st;

	bench_open(&b);
	real_put(&b, "a", "one\n");
	bench_start(&b);
	top_put(&b, "a", "one\n", true);
	top_name(&b, "a", "second");
	bench_capture(&b);
	for (at = 1; killed == KILLED_KILLED; at += step) {
		if (real_is(&b, "second", NULL) && bench_promote(&b) < 0)
			tap_bail(b.err.text);
		killed = killed_run(undo_newest, &b, at);
		if (killed == KILLED_UNABLE) {
			tap_skip(1, "processes may not be traced");
			return;
		}
		if (promotion_recover(&b.store, NULL, &b.err) < 0 || !real_stat(&b, "a", &st))
			tap_bail(b.err.text);
		bool is_undone = real_is(&b, "second", NULL);

		if (st.st_nlink != (is_undone ? 1 : 2)) {
			printf("# killed at %u it has %u names\n", at, (unsigned)st.st_nlink);
			bad++;
		}
		undone += is_undone && killed == KILLED_KILLED;
	}
	tap_ok(bad == 0 && undone > 0 && killed == KILLED_FINISHED,
	       "an undo killed at %u instants, of which %u were too late", at / step, undone);
}

/* As a rename leaves it: with the time that the host's file has. */
static void top_renamed(const struct bench *b, const char *from, const char *to, const char *text)
{
	owned(free_ptr) char *path = bench_top(b, to);
	struct stat st;

	top_put(b, to, text, true);
	if (!real_stat(b, from, &st) ||
	    utimensat(AT_FDCWD, path, (const struct timespec[]){ st.st_atim, st.st_mtim }, 0) < 0)
		tap_bail("cannot set a time");
	top_remove(b, from);
}

/* The host moved meanwhile: what was reviewed is what comes, as a file of its own. */
static void test_names_moved(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "a", "one\n");
	real_put(&b, "same", "one\n");
	real_put(&b, "old", "moved\n");
	real_put(&b, "older", "moved, too\n");
	bench_start(&b);
	top_put(&b, "a", "one\n", true);
	top_name(&b, "a", "second");
	top_name(&b, "a", "same");
	top_renamed(&b, "old", "new", "moved\n");
	top_name(&b, "new", "new-too");
	top_renamed(&b, "older", "newer", "moved, too\n");
	top_mkdir(&b, "of-it", NULL, NULL);
	top_name(&b, "newer", "of-it/below");
	bench_capture(&b);
	real_put(&b, "a", "edited in host\n");
	tap_is_int(bench_promote(&b), 0, "a name of a file that the host edited");
	tap_ok(real_is(&b, "second", "one\n") && real_is(&b, "a", "edited in host\n") &&
		       real_is(&b, "same", "one\n") && !is_one(&b, "a", "same"),
	       "comes with the content that was seen");
	tap_ok(is_one(&b, "new", "new-too") && real_is(&b, "new-too", "moved\n") &&
		       real_is(&b, "old", NULL) && is_one(&b, "newer", "of-it/below"),
	       "files that were renamed and linked, also into a new directory, have both names");
	tap_is_int(bench_undo(&b, NULL), 0, "undone");
	tap_ok(real_is(&b, "old", "moved\n") && real_is(&b, "new-too", NULL) &&
		       real_is(&b, "second", NULL),
	       "as it was");
}

/* A whole directory exchanged: the names are those of the new tree. */
static void test_names_swapped(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "a", "one\n");
	bench_start(&b);
	top_put(&b, "a", "one\n", true);
	top_name(&b, "a", "second");
	top_mkdir(&b, "dir", NULL, NULL);
	top_put(&b, "dir/x", "new\n", false);
	top_name(&b, "dir/x", "y");
	bench_capture(&b);
	b.request.swap = true;
	tap_is_int(bench_promote(&b), 0, "names in a tree that is exchanged whole");
	tap_ok(is_one(&b, "a", "second") && is_one(&b, "dir/x", "y"), "are names of one file");
	tap_is_int(bench_undo(&b, NULL), 0, "undone");
	tap_ok(real_is(&b, "second", NULL) && real_is(&b, "a", "one\n"), "as it was");
}

int main(void)
{
	test_thin();
	test_undo_large();
	test_selection();
	if (geteuid() == 0) {
		test_renamed_directory();
		test_renamed_into_replaced();
		test_renamed_and_sealed();
	} else {
		tap_skip(14, "a plain user's overlay renames no directories");
	}
	test_kinds();
	test_hard_link();
	test_names();
	test_names_killed();
	test_names_moved();
	test_names_swapped();
	return tap_done();
}
