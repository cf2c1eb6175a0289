/* SPDX-License-Identifier: Apache-2.0 */
/* Hunks as the body of a unified diff. */
#include "workspace/text/textdiff.h"

#include "base/core/own.h"

/* Hunks whose surroundings touch are printed as one. */
struct group {
	const struct hunk *first, *last;
	size_t from_a, to_a, from_b, to_b; /* with the surroundings */
};

static size_t group_length(const struct hunks *hunks, size_t at, size_t context)
{
	size_t end = at + 1;

	while (end < hunks->count) {
		const struct hunk *left = &hunks->items[end - 1], *right = &hunks->items[end];

		if (right->start_a - (left->start_a + left->count_a) > 2 * context)
			break;
		end++;
	}
	return end - at;
}

static void group_make(const struct hunks *hunks, size_t at, size_t length, size_t context,
		       struct group *group)
{
	group->first = &hunks->items[at];
	group->last = &hunks->items[at + length - 1];
	size_t before = group->first->start_a < context ? group->first->start_a : context;

	group->from_a = group->first->start_a - before;
	group->from_b = group->first->start_b - before;
	group->to_a = group->last->start_a + group->last->count_a;
	group->to_b = group->last->start_b + group->last->count_b;
}

/* An empty range is named by the line before it. */
static void add_range(struct str *out, char sign, size_t from, size_t to)
{
	size_t count = to - from;

	str_addf(out, "%c%zu", sign, count > 0 ? from + 1 : from);
	if (count != 1)
		str_addf(out, ",%zu", count);
}

static void add_lines(struct str *out, char sign, const struct text *text, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		size_t len = text->starts[i + 1] - text->starts[i];

		str_add_char(out, sign);
		str_add_bytes(out, text->bytes + text->starts[i], len);
		if (text->bytes[text->starts[i + 1] - 1] != '\n')
			str_add(out, "\n\\ No newline at end of file\n");
	}
}

static void add_group(struct str *out, const struct text *old, const struct text *new,
		      const struct group *group)
{
	size_t at = group->from_a;

	str_add(out, "@@ ");
	add_range(out, '-', group->from_a, group->to_a);
	str_add_char(out, ' ');
	add_range(out, '+', group->from_b, group->to_b);
	str_add(out, " @@\n");
	for (const struct hunk *hunk = group->first; hunk <= group->last; hunk++) {
		add_lines(out, ' ', old, at, hunk->start_a);
		add_lines(out, '-', old, hunk->start_a, hunk->start_a + hunk->count_a);
		add_lines(out, '+', new, hunk->start_b, hunk->start_b + hunk->count_b);
		at = hunk->start_a + hunk->count_a;
	}
	add_lines(out, ' ', old, at, group->to_a);
}

void textdiff_unified(const struct text *old, const struct text *new,
		      const struct unified_options *options, struct str *out)
{
	owned(hunks_done) struct hunks hunks = { 0 };
	size_t length;

	textdiff(old, new, &hunks);
	for (size_t i = 0; i < hunks.count; i += length) {
		struct group group;

		length = group_length(&hunks, i, options->context);
		group_make(&hunks, i, length, options->context, &group);
		size_t left = old->count - group.to_a;
		size_t after = left < options->context ? left : options->context;

		group.to_a += after;
		group.to_b += after;
		add_group(out, old, new, &group);
	}
}
