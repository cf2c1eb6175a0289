/* SPDX-License-Identifier: Apache-2.0 */
/* Two texts compared: lines into numbers, the search, and its marks into a list of hunks. */
#include "workspace/text/textdiff.h"

#include "base/core/own.h"
#include "workspace/text/textdiff_parts.h"

#include <string.h>

#define BINARY_LOOK 8000
/* A second or two on a slow machine. Texts that people write need a thousandth of it. */
#define BUDGET (UINT64_C(1) << 26)
/* Texts of more lines are no texts: they count as replaced, before they cost memory by the hundred bytes per line. */
#define LINES_MAX ((size_t)1 << 22)

bool text_is_binary(const char *bytes, size_t len)
{
	return len > 0 && memchr(bytes, 0, len < BINARY_LOOK ? len : BINARY_LOOK);
}

static size_t count_ends(const char *bytes, size_t len)
{
	size_t count = 0;
	const char *at = bytes, *end = bytes + len;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		count++;
	}
	return count;
}

void text_split(struct text *text, const char *bytes, size_t len)
{
	size_t ends = len > 0 ? count_ends(bytes, len) : 0, at = 0;

	*text = (struct text){ .bytes = bytes, .len = len };
	text->count = ends + (len > 0 && bytes[len - 1] != '\n');
	text->starts = xcalloc(text->count + 1, sizeof(*text->starts));
	for (size_t i = 0; i < text->count; i++) {
		const char *end = memchr(bytes + at, '\n', len - at);

		text->starts[i] = at;
		at = end ? (size_t)(end - bytes) + 1 : len;
	}
	text->starts[text->count] = len;
}

void text_done(struct text *text)
{
	free(text->starts);
	*text = (struct text){ 0 };
}

static void hunks_add(struct hunks *hunks, const struct hunk *hunk)
{
	if ((hunks->count & (hunks->count - 1)) == 0) {
		size_t room = hunks->count ? hunks->count * 2 : 1;

		hunks->items = xrealloc(hunks->items, room, sizeof(*hunks->items));
	}
	hunks->items[hunks->count++] = *hunk;
}

void hunks_done(struct hunks *hunks)
{
	free(hunks->items);
	*hunks = (struct hunks){ 0 };
}

static size_t run_end(const struct diff_side *side, size_t at)
{
	while (side->changed[at])
		at++;
	return at;
}

static void collect(const struct diff_pair *pair, struct hunks *ret_hunks)
{
	const struct diff_side *old = &pair->old, *new = &pair->new;
	size_t a = 0, b = 0;

	while (a < old->count || b < new->count) {
		struct hunk hunk = { .start_a = a, .start_b = b };

		hunk.count_a = run_end(old, a) - a;
		hunk.count_b = run_end(new, b) - b;
		if (hunk.count_a > 0 || hunk.count_b > 0)
			hunks_add(ret_hunks, &hunk);
		a += hunk.count_a + 1;
		b += hunk.count_b + 1;
	}
}

static bool same_line(const struct text *a, size_t in_a, const struct text *b, size_t in_b)
{
	size_t len = a->starts[in_a + 1] - a->starts[in_a];

	return len == b->starts[in_b + 1] - b->starts[in_b] &&
	       memcmp(a->bytes + a->starts[in_a], b->bytes + b->starts[in_b], len) == 0;
}

/* One hunk for all between the equal lines in front and behind. */
static void replace_middle(const struct text *old, const struct text *new, struct hunks *ret_hunks)
{
	struct hunk hunk = { 0, old->count, 0, new->count };

	while (hunk.count_a > 0 && hunk.count_b > 0 &&
	       same_line(old, hunk.start_a, new, hunk.start_b)) {
		hunk.start_a = ++hunk.start_b;
		hunk.count_a--;
		hunk.count_b--;
	}
	while (hunk.count_a > 0 && hunk.count_b > 0 &&
	       same_line(old, hunk.start_a + hunk.count_a - 1, new,
			 hunk.start_b + hunk.count_b - 1)) {
		hunk.count_a--;
		hunk.count_b--;
	}
	if (hunk.count_a > 0 || hunk.count_b > 0)
		hunks_add(ret_hunks, &hunk);
}

void textdiff(const struct text *old, const struct text *new, struct hunks *ret_hunks)
{
	struct diff_pair pair = { .old = { .text = old, .count = old->count },
				  .new = { .text = new, .count = new->count },
				  .budget = BUDGET };

	*ret_hunks = (struct hunks){ 0 };
	if (old->count > LINES_MAX || new->count > LINES_MAX) {
		replace_middle(old, new, ret_hunks);
		return;
	}
	diff_intern(&pair);
	diff_search(&pair);
	diff_slide(&pair.old, &pair.new, &pair.budget);
	diff_slide(&pair.new, &pair.old, &pair.budget);
	collect(&pair, ret_hunks);
	free(pair.old.lines);
	free(pair.old.changed);
	free(pair.new.lines);
	free(pair.new.changed);
}

void textdiff_stat(const struct text *old, const struct text *new, size_t *ret_added,
		   size_t *ret_removed)
{
	owned(hunks_done) struct hunks hunks = { 0 };
	size_t added = 0, removed = 0;

	textdiff(old, new, &hunks);
	for (size_t i = 0; i < hunks.count; i++) {
		added += hunks.items[i].count_b;
		removed += hunks.items[i].count_a;
	}
	*ret_added = added;
	*ret_removed = removed;
}
