/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the three-way merge: base, ours and theirs parted by NULs; laws that hold for any three texts. */
#include "base/core/own.h"
#include "workspace/text/merge.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct part {
	const char *bytes;
	size_t len;
};

static struct part next_part(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *from = *at,
		      *stop = from < end ? memchr(from, 0, (size_t)(end - from)) : NULL;
	struct part part = { (const char *)from, (size_t)((stop ? stop : end) - from) };

	*at = stop ? stop + 1 : end;
	return part;
}

static void merge(const struct part *base, const struct part *ours, const struct part *theirs,
		  enum merge_favour favour, struct merge_result *ret_result)
{
	struct merge_input input = { .base = base->bytes,
				     .ours = ours->bytes,
				     .theirs = theirs->bytes,
				     .base_len = base->len,
				     .ours_len = ours->len,
				     .theirs_len = theirs->len,
				     .favour = favour };

	merge_text(&input, ret_result);
}

static bool is(const struct merge_result *result, const struct part *part)
{
	return result->text.len == part->len &&
	       (part->len == 0 || memcmp(result->text.data, part->bytes, part->len) == 0);
}

static void check_one_sided(const struct part *base, const struct part *other)
{
	owned(merge_result_done) struct merge_result both = { 0 }, left = { 0 }, right = { 0 };

	merge(base, other, other, MERGE_MARK, &both);
	merge(base, other, base, MERGE_MARK, &left);
	merge(base, base, other, MERGE_MARK, &right);
	if (both.conflict_count || left.conflict_count || right.conflict_count ||
	    !is(&both, other) || !is(&left, other) || !is(&right, other))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(merge_result_done) struct merge_result marked = { 0 }, back = { 0 },
						     ours_first = { 0 };
	const uint8_t *at = data, *end = data + size;
	struct part base = next_part(&at, end), ours = next_part(&at, end),
		    theirs = next_part(&at, end);

	check_one_sided(&base, &ours);
	check_one_sided(&base, &theirs);
	merge(&base, &ours, &theirs, MERGE_MARK, &marked);
	merge(&base, &theirs, &ours, MERGE_MARK, &back);
	merge(&base, &ours, &theirs, MERGE_OURS, &ours_first);
	struct part clean = { ours_first.text.data, ours_first.text.len };

	if ((marked.conflict_count == 0) != (back.conflict_count == 0))
		abort();
	if (marked.conflict_count == 0 && (!is(&marked, &clean) || !is(&back, &clean)))
		abort();
	return 0;
}
