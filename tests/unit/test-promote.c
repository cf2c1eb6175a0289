/* Promotion from layers made by hand: applied, listed, undone; conflicts, consent, selection. */
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
	tap_is_int(bench_promote(&b), 0, "promoted");
	tap_ok(real_is(&b, "edited", "two\n") && real_is(&b, "new", "two\n") &&
		       real_is(&b, "made/sub/file", "two\n") && real_is(&b, "gone", NULL) &&
		       real_is(&b, "dir/below", "one\n"),
	       "reality is what the sandbox had");
	tap_is_int(bench_changes(&b), 0, "nothing is left to promote");
	tap_ok(promotion_list(&b.store, b.workspace, &records, &count, &b.err) == 0 && count == 1 &&
		       strcmp(records[0].state, "live") == 0 && records[0].paths.count == 6,
	       "it is listed");
	promotion_records_free(records, count);
	tap_is_int(bench_undo(&b, NULL), 0, "undone");
	tap_ok(real_is(&b, "edited", "one\n") && real_is(&b, "new", NULL) &&
		       real_is(&b, "made/sub/file", NULL) && real_is(&b, "gone", "one\n"),
	       "reality is what it was");
	tap_ok(bench_undo(&b, b.promotion.id) < 0 && b.err.code == ERROR_CONFLICT,
	       "undoing twice is refused");
	tap_ok(bench_undo(&b, NULL) < 0 && b.err.code == ERROR_NOT_FOUND, "nothing else to undo");
	tap_is_int(bench_promote(&b), 0, "and promoted again");
	tap_ok(real_is(&b, "edited", "two\n") && real_is(&b, "gone", NULL), "as before");
}

int main(void)
{
	test_thin();
	return tap_done();
}
