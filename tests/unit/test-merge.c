/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the three-way merge: what is taken from whom, what is a conflict, and how it is shown. */
#include "tests/tap.h"

#include "base/core/own.h"
#include "workspace/text/merge.h"

#include <stdint.h>

static void merge_of(const char *base, const char *ours, const char *theirs,
		     enum merge_favour favour, struct merge_result *ret_result)
{
	struct merge_input input = { .base = base,
				     .ours = ours,
				     .theirs = theirs,
				     .base_len = strlen(base),
				     .ours_len = strlen(ours),
				     .theirs_len = strlen(theirs),
				     .favour = favour,
				     .ours_label = "host",
				     .theirs_label = "sandbox" };

	merge_text(&input, ret_result);
}

static void merges_to(const char *base, const char *ours, const char *theirs, const char *want,
		      const char *what)
{
	owned(merge_result_done) struct merge_result result = { 0 };

	merge_of(base, ours, theirs, MERGE_MARK, &result);
	tap_is_str(str_cstr(&result.text), want, "%s", what);
	tap_is_int((long long)result.conflict_count, 0, "... and is clean");
}

static void conflicts_as(const char *base, const char *ours, const char *theirs, const char *want,
			 const char *what)
{
	owned(merge_result_done) struct merge_result result = { 0 };

	merge_of(base, ours, theirs, MERGE_MARK, &result);
	tap_is_str(str_cstr(&result.text), want, "%s", what);
	tap_ok(result.conflict_count > 0, "... and is a conflict");
}

static void test_clean(void)
{
	merges_to("a\nb\nc\n", "x\nb\nc\n", "a\nb\nz\n", "x\nb\nz\n", "two ends");
	merges_to("a\nb\nc\n", "a\nb\nc\n", "a\nc\n", "a\nc\n", "one side only");
	merges_to("a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n", "a\nx\nc\n", "the same on both sides");
	merges_to("a\nb\nc\nd\n", "a\nd\n", "a\nd\n", "a\nd\n", "the same removal");
	merges_to("a\nb\nc\nd\ne\n", "a\nX\nY\nc\nd\ne\n", "a\nb\nc\nd\ne\nf\n",
		  "a\nX\nY\nc\nd\ne\nf\n", "lengths may change");
	merges_to("", "", "", "", "nothing");
	merges_to("", "a\n", "", "a\n", "added by one");
	merges_to("a\nb\nc", "x\nb\nc", "a\nb\nc\n", "x\nb\nc\n", "an end gained on one side");
	merges_to("a\nb\nc\n", "x\nb\nc\n", "a\nb\nc", "x\nb\nc", "an end lost on one side");
	merges_to("a\r\nb\r\nc\r\n", "x\r\nb\r\nc\r\n", "a\r\nb\r\nz\r\n", "x\r\nb\r\nz\r\n",
		  "carriage returns stay");
	merges_to("a\nb\n", "", "", "", "both removed all");
}

static void test_conflicts(void)
{
	conflicts_as("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n",
		     "a\n<<<<<<< host\nx\n=======\ny\n>>>>>>> sandbox\nc\n", "one line, two ways");
	conflicts_as("a\nb\nc\n", "a\nx\nc\n", "a\nb\ny\n",
		     "a\n<<<<<<< host\nx\nc\n=======\nb\ny\n>>>>>>> sandbox\n",
		     "changes that touch");
	conflicts_as("", "a\n", "b\n", "<<<<<<< host\na\n=======\nb\n>>>>>>> sandbox\n",
		     "both added");
	conflicts_as("a\n", "x", "y", "<<<<<<< host\nx\n=======\ny\n>>>>>>> sandbox\n",
		     "markers begin lines");
	conflicts_as("a\r\nb\r\n", "a\r\nx\r\n", "a\r\ny\r\n",
		     "a\r\n<<<<<<< host\r\nx\r\n=======\r\ny\r\n>>>>>>> sandbox\r\n",
		     "markers end as the lines do");
	conflicts_as("a\n", "1\n2\n3\n4\n5\n6\nx\n", "y\n2\n3\n4\n5\n6\nz\n",
		     "<<<<<<< host\n1\n=======\ny\n>>>>>>> sandbox\n2\n3\n4\n5\n6\n"
		     "<<<<<<< host\nx\n=======\nz\n>>>>>>> sandbox\n",
		     "what both sides share stands outside");
}

static void test_favour(void)
{
	owned(merge_result_done) struct merge_result ours = { 0 }, theirs = { 0 };
	const char *base = "a\nb\nc\nd\ne\n", *left = "a\nx\nc\nd\nE\n", *right = "A\ny\nc\nd\ne\n";

	merge_of(base, left, right, MERGE_OURS, &ours);
	tap_is_str(str_cstr(&ours.text), "a\nx\nc\nd\nE\n", "the host's lines for the conflict");
	merge_of(base, left, right, MERGE_THEIRS, &theirs);
	tap_is_str(str_cstr(&theirs.text), "A\ny\nc\nd\nE\n",
		   "the sandbox's, and the host's change");
	tap_ok(ours.conflict_count == 1 && theirs.conflict_count == 1, "the conflict is told");
}

static void test_ranges(void)
{
	owned(merge_result_done) struct merge_result result = { 0 };

	merge_of("0\n1\n2\n3\n4\n", "new\n0\n1\nx\n3\n4\n", "0\n1\ny\nz\n3\n4\n", MERGE_MARK,
		 &result);
	if (!tap_is_int((long long)result.conflict_count, 1, "one conflict"))
		return;
	const struct merge_conflict *hunk = &result.conflicts[0];

	tap_ok(hunk->base_start == 2 && hunk->base_count == 1, "where it is in the base");
	tap_ok(hunk->ours_start == 3 && hunk->ours_count == 1, "on the host");
	tap_ok(hunk->theirs_start == 2 && hunk->theirs_count == 2, "in the sandbox");
}

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % limit;
}

static void random_text(struct str *out, uint32_t kinds)
{
	size_t count = random_below(30);

	str_clear(out);
	for (size_t i = 0; i < count; i++)
		str_addf(out, "%c%s", 'a' + (int)random_below(kinds),
			 i + 1 < count || random_below(4) ? "\n" : "");
}

/* A copy of BASE with some lines left out and others added. */
static void random_edit(const struct str *base, uint32_t kinds, struct str *out)
{
	str_clear(out);
	for (const char *at = str_cstr(base); *at;) {
		size_t len = strcspn(at, "\n");

		len += at[len] == '\n';
		if (random_below(8) > 0)
			str_add_bytes(out, at, len);
		if (random_below(8) == 0)
			str_addf(out, "%c\n", 'a' + (int)random_below(kinds));
		at += len;
	}
}

static bool gives(const char *base, const char *ours, const char *theirs, const char *want)
{
	owned(merge_result_done) struct merge_result result = { 0 };

	merge_of(base, ours, theirs, MERGE_MARK, &result);
	return result.conflict_count == 0 && strcmp(str_cstr(&result.text), want) == 0;
}

/* Clean in both directions with the same text, or a conflict in both. */
static bool is_symmetrical(const char *base, const char *ours, const char *theirs)
{
	owned(merge_result_done) struct merge_result one = { 0 }, other = { 0 };

	merge_of(base, ours, theirs, MERGE_MARK, &one);
	merge_of(base, theirs, ours, MERGE_MARK, &other);
	if (one.conflict_count > 0 || other.conflict_count > 0)
		return one.conflict_count > 0 && other.conflict_count > 0;
	return strcmp(str_cstr(&one.text), str_cstr(&other.text)) == 0;
}

static bool favour_is_one_side(const char *base, const char *ours, const char *theirs)
{
	owned(merge_result_done) struct merge_result left = { 0 }, right = { 0 };

	merge_of(base, ours, theirs, MERGE_OURS, &left);
	merge_of(base, theirs, ours, MERGE_THEIRS, &right);
	return strcmp(str_cstr(&left.text), str_cstr(&right.text)) == 0;
}

static void test_properties(void)
{
	size_t same = 0, only_theirs = 0, only_ours = 0, mirrored = 0, favoured = 0;

	random_state = 11;
	for (int round = 0; round < 5000; round++) {
		owned(str_done) struct str base = STR_INIT, ours = STR_INIT, theirs = STR_INIT;
		uint32_t kinds = 2 + random_below(20);

		random_text(&base, kinds);
		random_edit(&base, kinds, &ours);
		random_edit(&base, kinds, &theirs);
		const char *b = str_cstr(&base), *o = str_cstr(&ours), *t = str_cstr(&theirs);

		same += gives(b, o, o, o);
		only_theirs += gives(b, b, t, t);
		only_ours += gives(b, o, b, o);
		mirrored += is_symmetrical(b, o, t);
		favoured += favour_is_one_side(b, o, t);
	}
	tap_is_int((long long)same, 5000, "merge(b, o, o) is o");
	tap_is_int((long long)only_theirs, 5000, "merge(b, b, t) is t");
	tap_is_int((long long)only_ours, 5000, "merge(b, o, b) is o");
	tap_is_int((long long)mirrored, 5000, "neither side is preferred");
	tap_is_int((long long)favoured, 5000, "favouring one side is favouring the mirror's other");
}

int main(void)
{
	test_clean();
	test_conflicts();
	test_favour();
	test_ranges();
	test_properties();
	return tap_done();
}
