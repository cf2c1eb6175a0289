/* Deltas: layers made by hand against a base. */
#include "tests/unit/layers_delta.h"

static void test_simple(bool user)
{
	owned(layers_close) struct layers l;
	struct delta_options plain = { 0 }, expand = { .expand = true };

	layers_open(&l, 1, user);
	layers_put(&l, 1, "same", "one");
	layers_put(&l, 1, "edited", "one");
	layers_put(&l, 1, "gone", "one");
	layers_put(&l, 1, "dir/keep", "one");
	layers_put(&l, 1, "dir/old", "one");
	layers_put(&l, 1, "rm/a/b", "one");
	layers_is(&l, plain, "", "nothing written, nothing changed");
	layers_put(&l, 0, "same", "one");
	layers_put(&l, 0, "edited", "two");
	layers_put(&l, 0, "new", "two");
	layers_white(&l, 0, "gone");
	layers_white(&l, 0, "never");
	layers_put(&l, 0, "dir/new", "x");
	layers_white(&l, 0, "rm");
	layers_is(&l, plain, "A dir/new; M edited content; D gone; A new; D rm/a/b", "files");
	layers_is(&l, expand, "A dir/new; M edited content; D gone; A new; D rm; D rm/a; D rm/a/b",
		  "with directories");
	layers_mark(&l, 0, "dir", "opaque", "y");
	layers_is(&l, plain,
		  "D dir/keep; A dir/new; D dir/old; M edited content; D gone; A new; D rm/a/b",
		  "an opaque directory hides what was in it");
}

/* A plain user's overlay knows no renames of directories. */
static void test_split_renames(void)
{
	struct delta_options whole = { .renames = true };
	struct delta_options split = { .renames = true, .split_renames = true };
	struct layers l;

	if (geteuid() != 0) {
		tap_skip(2, "needs root's attributes");
		return;
	}
	layers_open(&l, 1, false);
	layers_put(&l, 1, "old/a", "one");
	layers_put(&l, 1, "old/b", "two");
	layers_white(&l, 0, "old");
	layers_mkdir(&l, 0, "new");
	layers_mark(&l, 0, "new", "redirect", "old");
	layers_is(&l, whole, "R new path < old", "a renamed directory is one change");
	layers_is(&l, split, "R new/a path < old/a; R new/b path < old/b",
		  "or as many as it has files");
	layers_close(&l);
}

static void test_both(void (*test)(bool user))
{
	test(true);
	if (geteuid() == 0)
		test(false);
}

int main(void)
{
	test_both(test_simple);
	test_split_renames();
	return tap_done();
}
