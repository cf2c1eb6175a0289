/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the comparison of lines: scripts, unified bodies, and that any script turns the old text into the new. */
#include "tests/tap.h"

#include "base/core/own.h"
#include "workspace/text/textdiff.h"

#include <stdint.h>

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % limit;
}

/* A text of COUNT lines out of a small set; now and then without an end at the end. */
static void random_text(struct str *out, size_t count, uint32_t kinds)
{
	for (size_t i = 0; i < count; i++)
		str_addf(out, "%c%s", 'a' + (int)random_below(kinds),
			 i + 1 < count || random_below(4) ? "\n" : "");
}

/* The old text with the hunks applied; false when the hunks do not fit the texts. */
static bool apply(const struct text *old, const struct text *new, const struct hunks *hunks,
		  struct str *out)
{
	size_t a = 0, b = 0;

	for (size_t i = 0; i < hunks->count; i++) {
		const struct hunk *hunk = &hunks->items[i];

		if (hunk->start_a < a || hunk->start_a - a != hunk->start_b - b ||
		    hunk->start_a + hunk->count_a > old->count ||
		    hunk->start_b + hunk->count_b > new->count)
			return false;
		str_add_bytes(out, old->bytes + old->starts[a],
			      old->starts[hunk->start_a] - old->starts[a]);
		a = hunk->start_a + hunk->count_a;
		b = hunk->start_b + hunk->count_b;
		str_add_bytes(out, new->bytes + new->starts[hunk->start_b],
			      new->starts[b] - new->starts[hunk->start_b]);
	}
	str_add_bytes(out, old->bytes + old->starts[a], old->len - old->starts[a]);
	return true;
}

static bool script_is_right(const struct str *before, const struct str *after, size_t *ret_hunks)
{
	owned(text_done) struct text old = { 0 }, new = { 0 };
	owned(hunks_done) struct hunks hunks = { 0 };
	owned(str_done) struct str out = STR_INIT;

	text_split(&old, str_cstr(before), before->len);
	text_split(&new, str_cstr(after), after->len);
	textdiff(&old, &new, &hunks);
	*ret_hunks = hunks.count;
	return apply(&old, &new, &hunks, &out) && out.len == after->len &&
	       memcmp(str_cstr(&out), str_cstr(after), out.len) == 0;
}

static void test_split(void)
{
	owned(text_done) struct text text = { 0 }, empty = { 0 };

	text_split(&text, "one\n\nthree", 10);
	tap_is_int((long long)text.count, 3, "a last line without an end is a line");
	tap_ok(text.starts[0] == 0 && text.starts[1] == 4 && text.starts[2] == 5 &&
		       text.starts[3] == 10,
	       "lines begin behind the ends of others");
	text_split(&empty, NULL, 0);
	tap_ok(empty.count == 0 && empty.starts[0] == 0, "no bytes, no lines");
}

static void test_binary(void)
{
	owned(free_ptr) char *late = xcalloc(8001, 1);

	memset(late, 'x', 8000);
	tap_ok(text_is_binary("a\0b", 3), "a NUL makes it binary");
	tap_ok(!text_is_binary(late, 8001), "beyond 8,000 bytes nobody looks");
	late[7999] = 0;
	tap_ok(text_is_binary(late, 8001), "up to there they do");
	tap_ok(!text_is_binary(NULL, 0), "nothing is text");
}

static void unified_is(const char *before, const char *after, const char *want, const char *what)
{
	owned(text_done) struct text old = { 0 }, new = { 0 };
	owned(str_done) struct str out = STR_INIT;
	struct unified_options options = { .context = 3 };

	text_split(&old, before, strlen(before));
	text_split(&new, after, strlen(after));
	textdiff_unified(&old, &new, &options, &out);
	tap_is_str(str_cstr(&out), want, "%s", what);
}

static void test_unified(void)
{
	unified_is("a\nb\n", "a\nb\n", "", "equal texts give nothing");
	unified_is("", "a\n", "@@ -0,0 +1 @@\n+a\n", "from nothing");
	unified_is("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n", "to nothing");
	unified_is("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
		   "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n", "three lines around");
	unified_is("a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
		   "an end gained");
	unified_is("a\nb\n", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n",
		   "an end lost");
	unified_is("a\nb", "x\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n",
		   "no end on either side");
	unified_is("1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n",
		   "@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n",
		   "surroundings that touch are one hunk");
	unified_is("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n",
		   "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n",
		   "a line more between them parts them");
	unified_is("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n",
		   "carriage returns are content");
	unified_is("f {\n}\n\ng {\n}\n", "f {\n}\n\nh {\n}\n\ng {\n}\n",
		   "@@ -1,5 +1,8 @@\n f {\n }\n \n+h {\n+}\n+\n g {\n }\n",
		   "an added part ends where the next begins");
}

static void test_stat(void)
{
	owned(text_done) struct text old = { 0 }, new = { 0 };
	size_t added = 9, removed = 9;

	text_split(&old, "a\nb\nc\n", 6);
	text_split(&new, "a\nx\ny\nc\nz\n", 10);
	textdiff_stat(&old, &new, &added, &removed);
	tap_ok(added == 3 && removed == 1, "three lines more, one less");
}

static void test_random(void)
{
	size_t wrong = 0, hunks;

	random_state = 42;
	for (int round = 0; round < 3000; round++) {
		owned(str_done) struct str old = STR_INIT, new = STR_INIT;
		uint32_t kinds = 1 + random_below(6);

		random_text(&old, random_below(60), kinds);
		random_text(&new, random_below(60), kinds);
		wrong += !script_is_right(&old, &new, &hunks);
	}
	tap_is_int((long long)wrong, 0, "3000 random scripts turn the old text into the new");
}

/* What would take days by the book: no line has a place of its own, and all are in another order. */
static void test_hostile(void)
{
	size_t lines = tap_size(100000, 150000, 500000), hunks = 0;
	owned(str_done) struct str old = STR_INIT, new = STR_INIT, same = STR_INIT;

	random_state = 7;
	for (size_t i = 0; i < lines; i++) {
		str_add(&old, random_below(2) ? "a\n" : "b\n");
		str_add(&new, random_below(2) ? "a\n" : "b\n");
		str_add(&same, "\n");
	}
	tap_ok(script_is_right(&old, &new, &hunks), "%zu lines of two kinds: right, in time",
	       lines);
	tap_ok(script_is_right(&same, &old, &hunks), "nothing in common: right");
	tap_is_int((long long)hunks, 1, "and one hunk");
	str_add(&same, "x");
	tap_ok(script_is_right(&old, &same, &hunks), "and back");
}

/* More lines than any text has: one hunk between what is equal in front and behind, or none. */
static void test_too_many(void)
{
	size_t lines = (4u << 20) + 1, hunks = 9;
	owned(str_done) struct str old = STR_INIT, new = STR_INIT;

	for (size_t i = 0; i < lines; i++)
		str_add_char(&old, '\n');
	tap_ok(script_is_right(&old, &old, &hunks) && hunks == 0, "too many lines, all equal");
	str_add_bytes(&new, old.data, old.len);
	new.data[100] = new.data[200] = 'x';
	tap_ok(script_is_right(&old, &new, &hunks) && hunks == 1, "too many, two of them changed");
	tap_ok(script_is_right(&new, &old, &hunks) && hunks == 1, "and back");
}

/* A long text with a few edits far apart costs as much as the edits. */
static void test_long(void)
{
	owned(str_done) struct str old = STR_INIT, new = STR_INIT;
	size_t hunks = 0;

	for (int i = 0; i < 200000; i++) {
		str_addf(&old, "line %d\n", i);
		str_addf(&new, "line %d%s\n", i, i % 1000 == 500 ? " changed" : "");
	}
	tap_ok(script_is_right(&old, &new, &hunks), "200,000 lines");
	tap_is_int((long long)hunks, 200, "each of 200 edits is a hunk");
}

int main(void)
{
	test_split();
	test_binary();
	test_unified();
	test_stat();
	test_random();
	test_hostile();
	test_too_many();
	test_long();
	return tap_done();
}
