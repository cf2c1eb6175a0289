/* SPDX-License-Identifier: Apache-2.0 */
/* Promotions that are old, or that never were: what of them goes, and what stays; and how one is named. */
#include "base/core/id.h"
#include "tests/unit/promote_fixture.h"
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

static void test_trim(void)
{
	owned(bench_close) struct bench b;
	struct promotion_record *records = NULL;
	size_t count = 0;
	char text[32];

	bench_open(&b);
	real_put(&b, "a", "start\n");
	bench_start(&b);
	for (int i = 0; i < 22; i++) {
		(void)snprintf(text, sizeof(text), "version %d\n", i);
		top_put(&b, "a", text, true);
		bench_capture(&b);
		if (bench_promote(&b) < 0)
			tap_bail(b.err.text);
	}
	tap_ok(promotion_list(&b.store, NULL, &records, &count, &b.err) == 0 && count == 22,
	       "all are listed");
	tap_ok(count == 22 && strcmp(records[0].state, "live") == 0 &&
		       strcmp(records[19].state, "live") == 0 &&
		       strcmp(records[20].state, "kept") == 0,
	       "newest first; what the oldest replaced is gone");
	tap_ok(bench_undo(&b, count == 22 ? records[21].id : "") < 0 &&
		       b.err.code == ERROR_NOT_FOUND,
	       "they cannot be undone any more");
	promotion_records_free(records, count);
	for (int i = 0; i < 20; i++)
		if (bench_undo(&b, NULL) < 0)
			tap_bail(b.err.text);
	tap_ok(real_is(&b, "a", "version 1\n"), "twenty can");
}

static bool has_torso(struct bench *b, const char *id)
{
	owned(free_ptr) char *path = xasprintf("promotions/%s", id);

	return faccessat(b->store.fd, path, F_OK, 0) == 0;
}

static void make_torso(struct bench *b, const char *id)
{
	owned(free_ptr) char *path = xasprintf("promotions/%s", id);
	owned(free_ptr) char *draft = xasprintf("promotions/%s/.paths.1", id);

	if (mkdirat(b->store.fd, path, 0700) < 0 ||
	    mknodat(b->store.fd, draft, S_IFREG | 0600, 0) < 0)
		tap_bail("torso");
}

/* A promotion that was killed before anything was noted of it leaves a directory that nobody lists. */
static void test_torsos(void)
{
	static const char *const old[] = { "01KA3G8V0Z1T6C6R1QZ4X1M5D2",
					   "01KA3G8V0Z1T6C6R1QZ4X1M5D3" };
	owned(strv_done) struct strv removed = STRV_INIT;
	owned(fd_close) int lock_fd = -1;
	owned(bench_close) struct bench b;
	char young[ID_RUN_SIZE];

	bench_open(&b);
	real_put(&b, "a", "start\n");
	bench_start(&b);
	top_put(&b, "a", "other\n", true);
	bench_capture(&b);
	if (bench_promote(&b) < 0 || id_run(young, &b.err) < 0)
		tap_bail(b.err.text);
	make_torso(&b, old[0]);
	make_torso(&b, old[1]);
	make_torso(&b, young);
	if (promotion_lock(&b.store, old[1], &lock_fd, &b.err) < 0)
		tap_bail(b.err.text);
	promotion_trim(&b.store, &removed);
	tap_ok(!has_torso(&b, old[0]) && removed.count == 1 && strv_has(&removed, old[0]),
	       "what a promotion left that was killed before its record goes");
	tap_ok(has_torso(&b, old[1]), "one that somebody works on stays");
	tap_ok(has_torso(&b, young), "so does one that has just begun");
	tap_ok(has_torso(&b, b.promotion.id), "and a whole one");
}

/* A promotion is named by a beginning that no other has; a record that speaks of another one is nobody's. */
static void test_named(void)
{
	owned(bench_close) struct bench b;
	char wrong[sizeof("promotions/") + LAYER_ID_SIZE], right[sizeof(wrong)];

	bench_open(&b);
	bench_start(&b);
	top_put(&b, "first", "one\n", false);
	bench_capture(&b);
	tap_is_int(bench_promote(&b), 0, "promoted");
	(void)snprintf(right, sizeof(right), "promotions/%s", b.promotion.id);
	(void)snprintf(wrong, sizeof(wrong), "%s", right);
	wrong[strlen(wrong) - 1] = wrong[strlen(wrong) - 1] == '0' ? '1' : '0';
	if (renameat(b.store.fd, right, b.store.fd, wrong) < 0)
		tap_bail("cannot rename a promotion");
	tap_ok(bench_undo(&b, strrchr(wrong, '/') + 1) < 0 && b.err.code == ERROR_INPUT &&
		       real_is(&b, "first", "one\n"),
	       "a record under another's name is not believed");
	tap_ok(bench_undo(&b, NULL) < 0 && b.err.code == ERROR_HOST &&
		       real_is(&b, "first", "one\n"),
	       "nor passed over");
	if (mkdirat(b.store.fd, right, 0700) < 0)
		tap_bail("cannot make a promotion");
	tap_ok(bench_undo(&b, "0") < 0 && b.err.code == ERROR_USAGE &&
		       real_is(&b, "first", "one\n"),
	       "a beginning that two have names none");
}

int main(void)
{
	test_trim();
	test_torsos();
	test_named();
	return tap_done();
}
