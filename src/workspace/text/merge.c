/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three texts merged by lines: two scripts from the base are laid side by side.
 *
 * Changes that neither overlap nor touch are taken, each from its side; the same change on both sides is taken once. What
 * overlaps or touches is a conflict over the union of both ranges, except where both sides came to the same lines. Inside
 * a conflict the lines both sides share stand outside the markers, unless they are too few to matter. That is what git
 * does, to the byte.
 */
#include "workspace/text/merge.h"

#include "base/core/own.h"
#include "workspace/text/textdiff.h"

#include <string.h>

#define MARKER_LENGTH 7
#define GAP_MAX 3 /* so few common lines between two conflicts do not part them */

/* Lines of one text. Signed, for a change that reaches back over lines the other side removed. */
struct span {
	long start, count;
};

static long span_end(const struct span *span)
{
	return span->start + span->count;
}

static struct span span_of(size_t start, size_t count)
{
	return (struct span){ (long)start, (long)count };
}

enum take { TAKE_CONFLICT, TAKE_OURS, TAKE_THEIRS, TAKE_EITHER };

/* A part where at least one side left the base. */
struct region {
	enum take take;
	struct span base, ours, theirs;
};

struct regions {
	struct region *items;
	size_t count;
};

struct merge {
	const struct merge_input *input;
	struct text base, ours, theirs;
	struct hunks to_ours, to_theirs;
	struct regions regions;
};

static void regions_add(struct regions *regions, const struct region *region)
{
	if ((regions->count & (regions->count - 1)) == 0) {
		size_t room = regions->count ? regions->count * 2 : 1;

		regions->items = xrealloc(regions->items, room, sizeof(*regions->items));
	}
	regions->items[regions->count++] = *region;
}

static void span_stretch(struct span *span, const struct span *more)
{
	span->count = span_end(more) - span->start;
}

/* A region that touches the one before it, in either result, becomes part of it. */
static void regions_join(struct regions *regions, const struct region *region)
{
	struct region *last = regions->count ? &regions->items[regions->count - 1] : NULL;

	if (!last || (region->ours.start > span_end(&last->ours) &&
		      region->theirs.start > span_end(&last->theirs))) {
		regions_add(regions, region);
		return;
	}
	if (last->take != region->take)
		last->take = TAKE_CONFLICT;
	span_stretch(&last->base, &region->base);
	span_stretch(&last->ours, &region->ours);
	span_stretch(&last->theirs, &region->theirs);
}

static bool lines_equal(const struct text *a, const struct span *in_a, const struct text *b,
			const struct span *in_b)
{
	size_t from_a = a->starts[in_a->start], from_b = b->starts[in_b->start];
	size_t len = a->starts[span_end(in_a)] - from_a;

	return len == b->starts[span_end(in_b)] - from_b &&
	       (len == 0 || memcmp(a->bytes + from_a, b->bytes + from_b, len) == 0);
}

static bool is_same_change(const struct merge *merge, const struct hunk *ours,
			   const struct hunk *theirs)
{
	struct span in_ours = span_of(ours->start_b, ours->count_b);
	struct span in_theirs = span_of(theirs->start_b, theirs->count_b);

	return ours->start_a == theirs->start_a && ours->count_a == theirs->count_a &&
	       ours->count_b == theirs->count_b &&
	       lines_equal(&merge->ours, &in_ours, &merge->theirs, &in_theirs);
}

/* A change of one side; SHIFT is what earlier changes of the other side added to its lines. */
static void add_single(struct merge *merge, const struct hunk *hunk, enum take take, long shift)
{
	struct span base = span_of(hunk->start_a, hunk->count_a), kept = base;
	struct span changed = span_of(hunk->start_b, hunk->count_b);
	struct region region = { .take = take, .base = base };

	kept.start += shift;
	region.ours = take == TAKE_OURS ? changed : kept;
	region.theirs = take == TAKE_OURS ? kept : changed;
	regions_join(&merge->regions, &region);
}

/* What the part WHOLE of the base became on the side that HUNK changed. */
static struct span stretch_over(const struct hunk *hunk, const struct span *whole)
{
	struct span base = span_of(hunk->start_a, hunk->count_a);
	struct span changed = span_of(hunk->start_b, hunk->count_b);
	long before = base.start - whole->start, after = span_end(whole) - span_end(&base);

	return (struct span){ changed.start - before, before + changed.count + after };
}

/* Both changed what overlaps or touches: the union of the two in the base, and what it became on either side. */
static void add_conflict(struct merge *merge, const struct hunk *ours, const struct hunk *theirs)
{
	struct span a = span_of(ours->start_a, ours->count_a);
	struct span b = span_of(theirs->start_a, theirs->count_a);
	struct region region = { .take = TAKE_CONFLICT, .base = a.start < b.start ? a : b };

	span_stretch(&region.base, span_end(&a) > span_end(&b) ? &a : &b);
	region.ours = stretch_over(ours, &region.base);
	region.theirs = stretch_over(theirs, &region.base);
	regions_join(&merge->regions, &region);
}

/* By how much a script has moved the lines behind its first COUNT hunks. */
static long shift_after(const struct hunks *hunks, size_t count)
{
	if (count == 0)
		return 0;
	const struct hunk *last = &hunks->items[count - 1];

	return (long)(last->start_b + last->count_b) - (long)(last->start_a + last->count_a);
}

static void lay_side_by_side(struct merge *merge)
{
	const struct hunks *ours = &merge->to_ours, *theirs = &merge->to_theirs;
	size_t i = 0, j = 0;

	while (i < ours->count || j < theirs->count) {
		const struct hunk *a = i < ours->count ? &ours->items[i] : NULL;
		const struct hunk *b = j < theirs->count ? &theirs->items[j] : NULL;

		if (!b || (a && a->start_a + a->count_a < b->start_a)) {
			add_single(merge, a, TAKE_OURS, shift_after(theirs, j));
			i++;
			continue;
		}
		if (!a || b->start_a + b->count_a < a->start_a) {
			add_single(merge, b, TAKE_THEIRS, shift_after(ours, i));
			j++;
			continue;
		}
		if (!is_same_change(merge, a, b))
			add_conflict(merge, a, b);
		size_t end_a = a->start_a + a->count_a, end_b = b->start_a + b->count_a;

		i += end_b >= end_a;
		j += end_a >= end_b;
	}
}

/* Lines of TEXT as a text of their own; the bytes stay where they are. */
static void text_part(const struct text *text, const struct span *span, struct text *ret_part)
{
	size_t from = text->starts[span->start];

	text_split(ret_part, text->bytes + from, text->starts[span_end(span)] - from);
}

/* Cuts a conflict into the parts in which the sides differ; it is none when they came to the same. */
static void refine(const struct merge *merge, const struct region *conflict, struct regions *out)
{
	owned(hunks_done) struct hunks hunks = { 0 };
	owned(text_done) struct text ours = { 0 }, theirs = { 0 };
	struct region part = *conflict;

	text_part(&merge->ours, &conflict->ours, &ours);
	text_part(&merge->theirs, &conflict->theirs, &theirs);
	textdiff(&ours, &theirs, &hunks);
	if (hunks.count == 0) {
		part.take = TAKE_EITHER;
		regions_add(out, &part);
	}
	for (size_t i = 0; i < hunks.count; i++) {
		const struct hunk *hunk = &hunks.items[i];

		part.ours = span_of(hunk->start_a, hunk->count_a);
		part.ours.start += conflict->ours.start;
		part.theirs = span_of(hunk->start_b, hunk->count_b);
		part.theirs.start += conflict->theirs.start;
		regions_add(out, &part);
	}
}

/* Regions as they are printed: conflicts cut to where the sides differ. */
static void refine_all(const struct merge *merge, struct regions *out)
{
	for (size_t i = 0; i < merge->regions.count; i++) {
		const struct region *region = &merge->regions.items[i];

		if (region->take == TAKE_CONFLICT && region->ours.count > 0 &&
		    region->theirs.count > 0)
			refine(merge, region, out);
		else
			regions_add(out, region);
	}
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the lines of ours between two conflicts say too little to part them. */
static bool is_thin(const struct text *ours, long from, long to)
{
	if (to - from <= GAP_MAX)
		return true;
	for (size_t i = ours->starts[from]; i < ours->starts[to]; i++) {
		if (is_alnum(ours->bytes[i]))
			return false;
	}
	return true;
}

static void join_near(const struct merge *merge, struct regions *regions)
{
	size_t kept = 0;

	for (size_t i = 1; i < regions->count; i++) {
		struct region *last = &regions->items[kept], *next = &regions->items[i];

		if (last->take == TAKE_CONFLICT && next->take == TAKE_CONFLICT &&
		    is_thin(&merge->ours, span_end(&last->ours), next->ours.start)) {
			span_stretch(&last->base, &next->base);
			span_stretch(&last->ours, &next->ours);
			span_stretch(&last->theirs, &next->theirs);
		} else {
			regions->items[++kept] = *next;
		}
	}
	if (regions->count > 0)
		regions->count = kept + 1;
}

static void copy_lines(struct str *out, const struct text *text, long from, long to)
{
	size_t begin = text->starts[from];

	str_add_bytes(out, text->bytes + begin, text->starts[to] - begin);
}

enum line_end { END_UNKNOWN, END_LF, END_CRLF };

/* How line AT ends; a last line that has no end is judged by the one before it. */
static enum line_end line_end_of(const struct text *text, long at)
{
	if (text->count == 0)
		return END_UNKNOWN;
	size_t line = (size_t)at < text->count ? (size_t)at : text->count - 1;
	size_t end = text->starts[line + 1];

	if (text->bytes[end - 1] != '\n') {
		if (line == 0)
			return END_UNKNOWN;
		end = text->starts[line--];
	}
	return end - text->starts[line] > 1 && text->bytes[end - 2] == '\r' ? END_CRLF : END_LF;
}

/* Markers end as the lines around them do; when in doubt, with a line feed. */
static const char *marker_end(const struct merge *merge, const struct region *region)
{
	long ours = region->ours.start, theirs = region->theirs.start;
	enum line_end end = line_end_of(&merge->ours, ours > 0 ? ours - 1 : 0);

	if (end != END_LF)
		end = line_end_of(&merge->theirs, theirs > 0 ? theirs - 1 : 0);
	if (end != END_LF)
		end = line_end_of(&merge->base, 0);
	return end == END_CRLF ? "\r\n" : "\n";
}

static void add_marker(struct str *out, char sign, const char *label, const char *end)
{
	for (int i = 0; i < MARKER_LENGTH; i++)
		str_add_char(out, sign);
	if (label)
		str_addf(out, " %s", label);
	str_add(out, end);
}

/* One side of a conflict; its last line gets an end, so that the marker begins a line. */
static void add_marked_side(struct str *out, const struct text *text, const struct span *span,
			    const char *end)
{
	if (span->count == 0)
		return;
	copy_lines(out, text, span->start, span_end(span));
	if (out->data[out->len - 1] != '\n')
		str_add(out, end);
}

static void add_marked(struct str *out, const struct merge *merge, const struct region *region)
{
	const char *end = marker_end(merge, region);

	add_marker(out, '<', merge->input->ours_label, end);
	add_marked_side(out, &merge->ours, &region->ours, end);
	add_marker(out, '=', NULL, end);
	add_marked_side(out, &merge->theirs, &region->theirs, end);
	add_marker(out, '>', merge->input->theirs_label, end);
}

/* What lies between the regions is the same on both sides and comes from ours. */
static void write_merged(const struct merge *merge, const struct regions *regions, struct str *out)
{
	enum merge_favour favour = merge->input->favour;
	long at = 0;

	for (size_t i = 0; i < regions->count; i++) {
		const struct region *region = &regions->items[i];
		enum take take = region->take;

		if (take == TAKE_EITHER)
			continue;
		if (take == TAKE_CONFLICT && favour != MERGE_MARK)
			take = favour == MERGE_OURS ? TAKE_OURS : TAKE_THEIRS;
		copy_lines(out, &merge->ours, at, region->ours.start);
		if (take == TAKE_CONFLICT)
			add_marked(out, merge, region);
		else if (take == TAKE_OURS)
			copy_lines(out, &merge->ours, region->ours.start, span_end(&region->ours));
		else
			copy_lines(out, &merge->theirs, region->theirs.start,
				   span_end(&region->theirs));
		at = span_end(&region->ours);
	}
	copy_lines(out, &merge->ours, at, (long)merge->ours.count);
}

/* The conflicts as data; parts of one conflict have the same range in the base. */
static void list_conflicts(const struct regions *regions, struct merge_result *result)
{
	result->conflicts = xcalloc(regions->count, sizeof(*result->conflicts));
	for (size_t i = 0; i < regions->count; i++) {
		const struct region *region = &regions->items[i];

		if (region->take != TAKE_CONFLICT)
			continue;
		result->conflicts[result->conflict_count++] = (struct merge_conflict){
			.base_start = (size_t)region->base.start,
			.base_count = (size_t)region->base.count,
			.ours_start = (size_t)region->ours.start,
			.ours_count = (size_t)region->ours.count,
			.theirs_start = (size_t)region->theirs.start,
			.theirs_count = (size_t)region->theirs.count,
		};
	}
}

void merge_text(const struct merge_input *input, struct merge_result *ret_result)
{
	struct merge merge = { .input = input };
	struct regions refined = { 0 };

	text_split(&merge.base, input->base, input->base_len);
	text_split(&merge.ours, input->ours, input->ours_len);
	text_split(&merge.theirs, input->theirs, input->theirs_len);
	textdiff(&merge.base, &merge.ours, &merge.to_ours);
	textdiff(&merge.base, &merge.theirs, &merge.to_theirs);
	lay_side_by_side(&merge);
	refine_all(&merge, &refined);
	join_near(&merge, &refined);

	*ret_result = (struct merge_result){ 0 };
	write_merged(&merge, &refined, &ret_result->text);
	list_conflicts(&refined, ret_result);
	free(refined.items);
	free(merge.regions.items);
	hunks_done(&merge.to_ours);
	hunks_done(&merge.to_theirs);
	text_done(&merge.base);
	text_done(&merge.ours);
	text_done(&merge.theirs);
}

void merge_result_done(struct merge_result *result)
{
	str_done(&result->text);
	free(result->conflicts);
	*result = (struct merge_result){ 0 };
}
