/* SPDX-License-Identifier: Apache-2.0 */
/* Promotion against a host tree that moved: each conflict, each strategy, and the two versions taken into the sandbox. */
#include "tests/unit/promote_fixture.h"

#include "base/hash/sha256.h"
#include "workspace/base/origin_record.h"
#include "workspace/disk/digest.h"
#include "workspace/store/cas.h"

#define TEN "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

static const struct conflict *conflict_at(const struct bench *b, const char *path)
{
	for (size_t i = 0; i < b->promotion.conflict_count; i++)
		if (strcmp(b->promotion.conflicts[i].path, path) == 0)
			return &b->promotion.conflicts[i];
	return NULL;
}

static void check_kind(const struct bench *b, const char *path, const char *kind)
{
	const struct conflict *conflict = conflict_at(b, path);

	tap_is_str(conflict ? conflict->kind : "none", kind, "%s", kind);
}

/* The host and sandbox changed the same file in different places. */
static void open_disjoint(struct bench *b)
{
	bench_open(b);
	real_put(b, "text", TEN);
	real_put(b, "other", "one\n");
	bench_start(b);
	top_put(b, "text", "1\n2\nsandbox\n4\n5\n6\n7\n8\n9\n10\n", true);
	top_put(b, "other", "two\n", true);
	bench_capture(b);
	bench_tick();
	real_put(b, "text", "1\n2\n3\n4\n5\n6\n7\n8\nhost\n10\n");
}

static void test_text(void)
{
	owned(bench_close) struct bench b;
	const struct conflict *conflict;

	open_disjoint(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT &&
		       real_is(&b, "other", "one\n"),
	       "a conflict stops everything");
	check_kind(&b, "text", "content");
	conflict = conflict_at(&b, "text");
	tap_ok(conflict && conflict->ours.sha256[0] && conflict->theirs.sha256[0] &&
		       conflict->base.sha256[0] && conflict->base_quality == ORIGIN_CAPTURED &&
		       !conflict->resolution,
	       "all three versions are named");
	b.request.strategy = STRATEGY_MERGE;
	b.request.dry_run = true;
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "other", "one\n"), "a dry run of a merge");
	b.request.dry_run = false;
	tap_is_int(bench_promote(&b), 0, "merged");
	tap_ok(real_is(&b, "text", "1\n2\nsandbox\n4\n5\n6\n7\n8\nhost\n10\n") &&
		       real_is(&b, "other", "two\n") && b.promotion.merged.count == 1,
	       "both edits are in");
	tap_is_int(bench_promote(&b), 0, "again");
	tap_ok(real_is(&b, "text", "1\n2\nsandbox\n4\n5\n6\n7\n8\nhost\n10\n") &&
		       b.promotion.applied.count == 0 && b.promotion.merged.count == 0,
	       "a merge is not taken back by promoting once more");
	tap_is_int(bench_undo(&b, NULL), 0, "undone");
	tap_ok(real_is(&b, "text", "1\n2\n3\n4\n5\n6\n7\n8\nhost\n10\n"),
	       "only the sandbox's part");
	tap_is_int(bench_promote(&b), 0, "and merged again");
}

static void test_ways(void)
{
	static const struct {
		enum promote_strategy strategy;
		const char *text;
	} ways[] = {
		{ STRATEGY_OURS, "1\nhost\n" },
		{ STRATEGY_THEIRS, "1\nsandbox\n" },
		{ STRATEGY_LWW, "1\nhost\n" },
		{ STRATEGY_MERGE_OURS, "1\nhost\n" },
		{ STRATEGY_MERGE_THEIRS, "1\nsandbox\n" },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		owned(bench_close) struct bench b;
		owned(fd_close) int fd = -1;
		const struct conflict *conflict;

		bench_open(&b);
		real_put(&b, "text", "1\n2\n");
		bench_start(&b);
		top_put(&b, "text", "1\nsandbox\n", true);
		bench_capture(&b);
		bench_tick();
		real_put(&b, "text", "1\nhost\n");
		b.request.strategy = STRATEGY_MERGE;
		tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT &&
			       b.promotion.conflicts[0].hunk_count == 1,
		       "overlapping edits do not merge");
		b.request.strategy = ways[i].strategy;
		tap_ok(bench_promote(&b) == 0 && real_is(&b, "text", ways[i].text), "strategy %zu",
		       i);
		conflict = conflict_at(&b, "text");
		tap_ok(conflict && conflict->resolution && conflict->loser[0] &&
			       cas_open(&b.store, conflict->loser, &fd, &b.err) == 0,
		       "who lost is kept");
	}
}

/* Aspects that do not meet are no conflict. */
static void test_aspects(void)
{
	owned(bench_close) struct bench b;
	struct stat st;

	bench_open(&b);
	real_put(&b, "script", "one\n");
	bench_start(&b);
	top_put(&b, "script", "one\n", true);
	top_chmod(&b, "script", 0755);
	bench_capture(&b);
	bench_tick();
	real_put(&b, "script", "two\n");
	tap_is_int(bench_promote(&b), 0, "executable here, edited there");
	tap_ok(real_is(&b, "script", "two\n") && real_stat(&b, "script", &st) &&
		       (st.st_mode & 0777) == 0755,
	       "both");
}

/* One of each kind. */
static void open_kinds(struct bench *b)
{
	bench_open(b);
	real_put(b, "deleted", "one\n");
	real_put(b, "modified", "one\n");
	real_put(b, "binary", "a\n");
	real_put(b, "type", "one\n");
	real_put(b, "tree/seen", "one\n");
	real_put(b, "parent/file", "one\n");
	real_put(b, ".git/notes", "1\n2\n3\n");
	bench_start(b);
	top_remove(b, "deleted");
	top_put(b, "modified", "two\n", true);
	top_put(b, "binary", "b", true);
	top_put(b, "added", "two\n", false);
	top_link(b, "type", "modified");
	top_remove(b, "tree");
	top_mkdir(b, "parent", "origin", "");
	top_put(b, "parent/new", "two\n", false);
	bench_capture(b);
	bench_tick();
	real_put(b, "deleted", "real\n");
	real_remove(b, "modified");
	owned(free_ptr) char *binary = bench_real(b, "binary");
	owned(fd_close) int fd = open(binary, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (write(fd, "a\0b", 3) != 3)
		tap_bail("cannot write");
	fd_close(&fd);
	real_put(b, "added", "real\n");
	real_put(b, "type", "real\n");
	real_put(b, "tree/unseen", "real\n");
	real_remove(b, "parent/file");
	real_remove(b, "parent");
}

static void test_kinds(void)
{
	owned(bench_close) struct bench b;
	const struct conflict *conflict;

	open_kinds(&b);
	b.request.strategy = STRATEGY_MERGE;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT, "nothing of it merges");
	check_kind(&b, "deleted", "delete/modify");
	check_kind(&b, "modified", "modify/delete");
	check_kind(&b, "binary", "binary");
	check_kind(&b, "added", "add/add");
	check_kind(&b, "type", "type");
	check_kind(&b, "tree", "dir-delete");
	conflict = conflict_at(&b, "tree");
	tap_ok(conflict && conflict->names.count == 1 &&
		       strcmp(conflict->names.items[0], "tree/unseen") == 0,
	       "what the sandbox never saw is named");
	check_kind(&b, "parent", "parent-gone");
	b.request.strategy = STRATEGY_OURS;
	tap_is_int(bench_promote(&b), 0, "the host wins");
	tap_ok(real_is(&b, "deleted", "real\n") && real_is(&b, "modified", NULL) &&
		       real_is(&b, "added", "real\n") && real_is(&b, "tree/unseen", "real\n") &&
		       real_is(&b, "tree/seen", "one\n") && real_is(&b, "parent/new", NULL),
	       "and stays");
	b.request.strategy = STRATEGY_THEIRS;
	tap_is_int(bench_promote(&b), 0, "the sandbox wins");
	tap_ok(real_is(&b, "deleted", NULL) && real_is(&b, "modified", "two\n") &&
		       real_is(&b, "added", "two\n") && real_is(&b, "tree/unseen", NULL) &&
		       real_is(&b, "parent/new", "two\n"),
	       "parents are made again, and the rest is as in the sandbox");
	tap_is_int(bench_changes(&b), 0, "nothing is left");
	tap_ok(bench_undo(&b, NULL) == 0 && real_is(&b, "tree/unseen", "real\n") &&
		       real_is(&b, "deleted", "real\n"),
	       "and all of it comes back");
}

/* A directory that the sandbox removed, and the host put a file into meanwhile: it goes by decision only, and is kept. */
static void test_unseen(void)
{
	owned(bench_close) struct bench b;
	owned(fd_close) int kept = -1;
	char hex[SHA256_HEX_SIZE];

	bench_open(&b);
	real_put(&b, "tree/seen", "one\n");
	bench_start(&b);
	top_remove(&b, "tree");
	bench_capture(&b);
	bench_tick();
	real_put(&b, "tree/unseen", "nobody else has it\n");
	sha256_hex("nobody else has it\n", 19, hex);
	b.request.strategy = STRATEGY_THEIRS;
	b.request.dry_run = true;
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "tree/unseen", "nobody else has it\n") &&
		       cas_open(&b.store, hex, &kept, &b.err) < 0,
	       "a dry run takes and keeps nothing");
	b.request.dry_run = false;
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "tree", NULL), "the sandbox wins at once");
	check_kind(&b, "tree/unseen", "base-lost");
	tap_is_int(cas_open(&b.store, hex, &kept, &b.err), 0, "what it never saw is kept");
	tap_ok(bench_undo(&b, NULL) == 0 && real_is(&b, "tree/seen", "one\n") &&
		       real_is(&b, "tree/unseen", "nobody else has it\n"),
	       "and comes back");
}

static void test_renames(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "a", TEN);
	real_put(&b, "x", "content of x\n");
	real_put(&b, "v", "content of v\n");
	bench_start(&b);
	top_put(&b, "w", "content of v\n", true);
	top_remove(&b, "v");
	top_put(&b, "b", TEN, true);
	top_remove(&b, "a");
	top_put(&b, "y", "content of x\n", true);
	top_remove(&b, "x");
	bench_capture(&b);
	bench_tick();
	real_put(&b, "a", "1\n2\n3\n4\n5\n6\n7\n8\nhost\n10\n");
	owned(free_ptr) char *from = bench_real(&b, "x"), *to = bench_real(&b, "z");

	(void)rename(from, to);
	real_remove(&b, "v");
	b.request.strategy = STRATEGY_MERGE;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT, "both renamed one file");
	check_kind(&b, "y", "rename/rename");
	check_kind(&b, "w", "modify/delete");
	strv_add(&b.request.paths, "b");
	tap_is_int(bench_promote(&b), 0, "renamed here, edited there");
	tap_ok(real_is(&b, "b", "1\n2\n3\n4\n5\n6\n7\n8\nhost\n10\n") && real_is(&b, "a", NULL),
	       "the edit is at the new name");
}

static void test_lost(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "text", TEN);
	bench_start(&b);
	top_put(&b, "text", "sandbox\n", true);
	bench_tick();
	real_put(&b, "text", "host\n");
	b.request.strategy = STRATEGY_MERGE;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT, "the base is lost");
	check_kind(&b, "text", "base-lost");
}

static void test_into_sandbox(void)
{
	owned(bench_close) struct bench b;
	owned(free_ptr) char *top = NULL;

	bench_open(&b);
	real_put(&b, "dir/text", "1\n2\n");
	bench_start(&b);
	top_put(&b, "dir/text", "1\nsandbox\n", true);
	bench_capture(&b);
	bench_tick();
	real_put(&b, "dir/text", "1\nhost\n");
	b.request.into_sandbox = true;
	b.request.strategy = STRATEGY_MERGE;
	tap_is_int(bench_promote(&b), 0, "taken into the sandbox");
	tap_ok(real_is(&b, "dir/text", "1\nhost\n"), "the host has no markers");
	top = bench_top(&b, "dir/text");
	owned(fd_close) int fd = open(top, O_RDONLY | O_CLOEXEC);
	char text[256] = "";

	tap_ok(read(fd, text, sizeof(text) - 1) > 0 && strstr(text, "<<<<<<< host\nhost\n") &&
		       strstr(text, "sandbox\n>>>>>>> box\n"),
	       "the sandbox has");
	b.request.into_sandbox = false;
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT &&
		       real_is(&b, "dir/text", "1\nhost\n"),
	       "markers never reach the host");
	top_put(&b, "dir/text", "1\nresolved\n", true);
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "dir/text", "1\nresolved\n"),
	       "resolved, it is promoted without a conflict");
}

/* Promoted, changed again in the sandbox, then on the host: what was promoted is the base. */
static void test_after_promotion(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "text", TEN);
	bench_start(&b);
	top_put(&b, "text", "1\n2\nfirst\n4\n5\n6\n7\n8\n9\n10\n", true);
	bench_capture(&b);
	tap_is_int(bench_promote(&b), 0, "promoted");
	bench_tick();
	top_put(&b, "text", "1\n2\nfirst\n4\nsecond\n6\n7\n8\n9\n10\n", true);
	bench_capture(&b);
	bench_tick();
	real_put(&b, "text", "1\n2\nfirst\n4\n5\n6\n7\n8\n9\nhost\n");
	b.request.strategy = STRATEGY_MERGE;
	tap_ok(bench_promote(&b) == 0 &&
		       real_is(&b, "text", "1\n2\nfirst\n4\nsecond\n6\n7\n8\n9\nhost\n"),
	       "what is new on both sides is merged");
}

static void put_large(const char *path)
{
	bench_write(path, "one\n");
	if (truncate(path, DIGEST_WHOLE_MAX + 1) < 0)
		tap_bail("cannot make a large file");
}

/* Writes down that the base of NAME is what the host has, as earlier versions did: with the digest of the whole. */
static void put_earlier_record(struct bench *b, const char *name)
{
	owned(free_ptr) char *path = bench_real(b, name);
	owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	owned(str_done) struct str lines = STR_INIT;
	struct origin_record record = { .path = path };

	txn_identity_of(AT_FDCWD, path, &record.origin.identity);
	if (fd < 0 || sha256_fd(fd, record.origin.sha256) < 0)
		tap_bail("cannot read a large file");
	origin_records_put(&lines, &record);
	if (origin_records_append(b->sandbox.dir_fd, "touched", &lines, &b->err) < 0)
		tap_bail(b->err.text);
}

/* Digests of large files have another form in records of earlier versions: the content is the same. */
static void test_earlier_records(void)
{
	static const char *const names[] = { "edited", "opened", "both" };
	owned(bench_close) struct bench b;
	struct stat st;

	bench_open(&b);
	for (size_t i = 0; i < 3; i++) {
		owned(free_ptr) char *path = bench_real(&b, names[i]);

		put_large(path);
	}
	bench_start(&b);
	top_put(&b, "edited", "two\n", true);
	top_put(&b, "opened", "", true);
	owned(free_ptr) char *opened = bench_top(&b, "opened");
	owned(free_ptr) char *edited = bench_real(&b, "edited");

	put_large(opened);
	top_chmod(&b, "opened", 0600);
	top_put(&b, "both", "two\n", true);
	for (size_t i = 0; i < 3; i++)
		put_earlier_record(&b, names[i]);
	bench_tick();
	/* Written anew, with the content that it had. */
	put_large(edited);
	real_put(&b, "opened", "host\n");
	real_put(&b, "both", "host\n");
	tap_ok(bench_promote(&b) < 0 && b.promotion.conflict_count == 1,
	       "a base of an earlier version: changed on both sides is a conflict");
	check_kind(&b, "both", "content");
	strv_add(&b.request.paths, "edited");
	strv_add(&b.request.paths, "opened");
	tap_ok(bench_promote(&b) == 0 && real_is(&b, "edited", "two\n"),
	       "and changed only by the sandbox is none");
	tap_ok(real_is(&b, "opened", "host\n") && real_stat(&b, "opened", &st) &&
		       (st.st_mode & 07777) == 0600,
	       "nor is another mode of a content that the host changed");
}

static void test_git(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "file", "one\n");
	real_put(&b, ".git/index.lock", "");
	bench_start(&b);
	top_put(&b, "file", "two\n", true);
	bench_capture(&b);
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT &&
		       real_is(&b, "file", "one\n"),
	       "a git is at work");
	check_kind(&b, ".git/index.lock", "busy");
	real_remove(&b, ".git/index.lock");
	tap_is_int(bench_promote(&b), 0, "it is done");
}

int main(void)
{
	test_text();
	test_ways();
	test_aspects();
	test_kinds();
	test_unseen();
	test_renames();
	test_lost();
	test_into_sandbox();
	test_after_promotion();
	test_earlier_records();
	test_git();
	return tap_done();
}
