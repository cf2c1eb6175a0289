/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest script between two lists of lines: Myers's search from both ends, in linear space.
 *
 * Lines that occur on one side only are changed whatever happens, and leave the lists first. Lines that occur very
 * often say little about where two texts belong together: among lines without a match they leave too. The rest is a
 * box to cross from its top left to its bottom right. Two fronts advance, one from each corner, a difference per round;
 * where they meet, the box is split, and both parts are treated in the same way. A front that finds a long run of equal
 * lines, or a search that took too many rounds, splits at the best point so far: the script is a little longer then.
 * Work over all boxes is bounded by the budget; behind it, boxes count as replaced.
 */
#include "workspace/text/textdiff_parts.h"

#include "base/core/own.h"

#include <limits.h>
#include <string.h>

#define OFTEN_MAX 1024	/* a line with so many matches is frequent in any text */
#define LOOK_AROUND 100 /* lines looked at in each direction to judge a frequent one */
#define ROUNDS_MIN 256	/* no shortcut is taken before these */
#define RUN_LENGTH 20	/* so many equal lines in a row are no accident */
#define BEYOND (LONG_MAX / 2)

/* What is left of one side. */
struct list {
	uint32_t *lines;
	size_t *places; /* of each, in the side */
	long count;
	bool *changed; /* the side's */
};

static void list_done(struct list *list)
{
	free(list->lines);
	free(list->places);
}

/* A power of two near the square root: of 16 to 63 it is 8. */
static size_t about_root(size_t number)
{
	size_t root = 1;

	for (; number > 0; number /= 4)
		root *= 2;
	return root;
}

enum match { MATCH_NONE, MATCH_SOME, MATCH_OFTEN };

static void judge(const struct diff_side *side, const uint32_t *counts, size_t from, size_t to,
		  unsigned char *matches)
{
	size_t often = about_root(side->count);

	if (often > OFTEN_MAX)
		often = OFTEN_MAX;
	for (size_t i = from; i < to; i++) {
		size_t count = counts[side->lines[i]];

		matches[i] = count == 0 ? MATCH_NONE : count >= often ? MATCH_OFTEN : MATCH_SOME;
	}
}

/* Lines without a match, and frequent ones, up to the next that has a place of its own. */
struct plan_context {
	size_t none, often;
};

static bool count_around(unsigned char match, struct plan_context *around)
{
	around->none += match == MATCH_NONE;
	around->often += match == MATCH_OFTEN;
	return match != MATCH_SOME;
}

/* Whether the frequent line AT lies among lines without a match: more than three quarters of its surroundings. */
static bool is_lost(const unsigned char *matches, size_t at, size_t from, size_t to)
{
	struct plan_context before = { 0, 1 }, after = { 0, 1 };

	for (size_t i = at; i > from && at - i < LOOK_AROUND; i--) {
		if (!count_around(matches[i - 1], &before))
			break;
	}
	for (size_t i = at + 1; i < to && i - at <= LOOK_AROUND; i++) {
		if (!count_around(matches[i], &after))
			break;
	}
	if (before.none == 0 || after.none == 0)
		return false;
	size_t none = before.none + after.none, often = before.often + after.often;

	return often * 4 < often + none;
}

/* COUNTS: how often each number occurs on the other side. */
static void list_make(struct diff_side *side, const uint32_t *counts, size_t from, size_t to,
		      struct list *ret_list)
{
	owned(free_ptr) unsigned char *matches = xcalloc(side->count, 1);
	struct list list = { .lines = xcalloc(to - from, sizeof(*list.lines)),
			     .places = xcalloc(to - from, sizeof(*list.places)),
			     .changed = side->changed };

	judge(side, counts, from, to, matches);
	for (size_t i = from; i < to; i++) {
		if (matches[i] == MATCH_NONE ||
		    (matches[i] == MATCH_OFTEN && is_lost(matches, i, from, to))) {
			side->changed[i] = true;
			continue;
		}
		list.lines[list.count] = side->lines[i];
		list.places[list.count++] = i;
	}
	*ret_list = list;
}

struct box {
	long old_from, old_to, new_from, new_to;
	bool exact; /* its cost is known to be small: no shortcuts */
};

/*
 * How far a search came, per diagonal (place in the old minus place in the new); as places in the old. No front gets
 * further from its first diagonal than there are rounds, so the memory follows the rounds.
 */
struct front {
	long *reach;
	long first, low, high;
};

struct search {
	struct list old, new;
	struct front ahead, back;
	long rounds_max;
	uint64_t *budget;
};

struct split {
	long old, new;
	bool exact_before, exact_after;
};

static long *reach_of(const struct search *search, const struct front *front, long diagonal)
{
	return &front->reach[diagonal - front->first + search->rounds_max + 2];
}

static bool front_holds(const struct front *front, long diagonal)
{
	return diagonal >= front->low && diagonal <= front->high;
}

static void front_begin(const struct search *search, struct front *front, long diagonal, long at)
{
	front->first = front->low = front->high = diagonal;
	*reach_of(search, front, diagonal) = at;
}

/* One diagonal more on each side, as long as it crosses the box. */
static void front_widen(const struct search *search, struct front *front, const struct box *box,
			long unreached)
{
	if (front->low > box->old_from - box->new_to) {
		front->low--;
		*reach_of(search, front, front->low - 1) = unreached;
	} else {
		front->low++;
	}
	if (front->high < box->old_to - box->new_from) {
		front->high++;
		*reach_of(search, front, front->high + 1) = unreached;
	} else {
		front->high--;
	}
}

static void spend(struct search *search, uint64_t steps)
{
	*search->budget -= steps < *search->budget ? steps : *search->budget;
}

/* What a round found: that the fronts met, and whether a long run of equal lines was passed. */
struct round {
	bool met, long_run;
	long old, new;
};

static void advance(struct search *search, const struct box *box, struct round *round)
{
	struct front *front = &search->ahead;
	bool may_meet = (front->first - search->back.first) % 2 != 0;

	front_widen(search, front, box, -1);
	for (long d = front->high; d >= front->low && !round->met; d -= 2) {
		long left = *reach_of(search, front, d - 1),
		     right = *reach_of(search, front, d + 1);
		long from = left >= right ? left + 1 : right, at = from;

		while (at < box->old_to && at - d < box->new_to &&
		       search->old.lines[at] == search->new.lines[at - d])
			at++;
		spend(search, (uint64_t)(at - from) + 1);
		round->long_run |= at - from > RUN_LENGTH;
		*reach_of(search, front, d) = at;
		if (may_meet && front_holds(&search->back, d) &&
		    *reach_of(search, &search->back, d) <= at) {
			round->met = true;
			round->old = at;
			round->new = at - d;
		}
	}
}

static void retreat(struct search *search, const struct box *box, struct round *round)
{
	struct front *front = &search->back;
	bool may_meet = (search->ahead.first - front->first) % 2 == 0;

	front_widen(search, front, box, BEYOND);
	for (long d = front->high; d >= front->low && !round->met; d -= 2) {
		long left = *reach_of(search, front, d - 1),
		     right = *reach_of(search, front, d + 1);
		long from = left < right ? left : right - 1, at = from;

		while (at > box->old_from && at - d > box->new_from &&
		       search->old.lines[at - 1] == search->new.lines[at - d - 1])
			at--;
		spend(search, (uint64_t)(from - at) + 1);
		round->long_run |= from - at > RUN_LENGTH;
		*reach_of(search, front, d) = at;
		if (may_meet && front_holds(&search->ahead, d) &&
		    at <= *reach_of(search, &search->ahead, d)) {
			round->met = true;
			round->old = at;
			round->new = at - d;
		}
	}
}

/* RUN_LENGTH equal lines from there on. */
static bool is_run(const struct search *search, long old, long new)
{
	return memcmp(&search->old.lines[old], &search->new.lines[new],
		      RUN_LENGTH * sizeof(*search->old.lines)) == 0;
}

static long distance(long a, long b)
{
	return a > b ? a - b : b - a;
}

/* The point furthest ahead behind a long run, if it is worth the rounds. */
static bool split_at_run_ahead(const struct search *search, const struct box *box, long rounds,
			       struct split *ret_split)
{
	const struct front *front = &search->ahead;
	long best = 4 * rounds;
	bool found = false;

	for (long d = front->high; d >= front->low; d -= 2) {
		long old = *reach_of(search, front, d), new = old - d;
		long value = old - box->old_from + new - box->new_from - distance(d, front->first);

		if (value <= best || old < box->old_from + RUN_LENGTH || old >= box->old_to ||
		    new < box->new_from + RUN_LENGTH || new >= box->new_to ||
		    !is_run(search, old - RUN_LENGTH, new - RUN_LENGTH))
			continue;
		best = value;
		found = true;
		*ret_split = (struct split){ old, new, true, false };
	}
	return found;
}

static bool split_at_run_back(const struct search *search, const struct box *box, long rounds,
			      struct split *ret_split)
{
	const struct front *front = &search->back;
	long best = 4 * rounds;
	bool found = false;

	for (long d = front->high; d >= front->low; d -= 2) {
		long old = *reach_of(search, front, d), new = old - d;
		long value = box->old_to - old + box->new_to - new - distance(d, front->first);

		if (value <= best || old <= box->old_from || old > box->old_to - RUN_LENGTH ||
		    new <= box->new_from || new > box->new_to - RUN_LENGTH ||
		    !is_run(search, old, new))
			continue;
		best = value;
		found = true;
		*ret_split = (struct split){ old, new, false, true };
	}
	return found;
}

/* Enough rounds: the point that the front ahead, or the one coming back, got furthest to. */
static struct split split_at_furthest(const struct search *search, const struct box *box)
{
	const struct front *ahead = &search->ahead, *back = &search->back;
	long far = -1, far_old = -1, near = BEYOND, near_old = BEYOND;

	for (long d = ahead->high; d >= ahead->low; d -= 2) {
		long old = *reach_of(search, ahead, d);

		if (old > box->old_to)
			old = box->old_to;
		if (old - d > box->new_to)
			old = box->new_to + d;
		if (2 * old - d > far) {
			far = 2 * old - d;
			far_old = old;
		}
	}
	for (long d = back->high; d >= back->low; d -= 2) {
		long old = *reach_of(search, back, d);

		if (old < box->old_from)
			old = box->old_from;
		if (old - d < box->new_from)
			old = box->new_from + d;
		if (2 * old - d < near) {
			near = 2 * old - d;
			near_old = old;
		}
	}
	if (box->old_to + box->new_to - near < far - (box->old_from + box->new_from))
		return (struct split){ far_old, far - far_old, true, false };
	return (struct split){ near_old, near - near_old, false, true };
}

/* Where to cut the box; false when the budget ended. */
static bool find_split(struct search *search, const struct box *box, struct split *ret_split)
{
	front_begin(search, &search->ahead, box->old_from - box->new_from, box->old_from);
	front_begin(search, &search->back, box->old_to - box->new_to, box->old_to);
	for (long rounds = 1; *search->budget > 0; rounds++) {
		struct round round = { 0 };

		advance(search, box, &round);
		if (!round.met)
			retreat(search, box, &round);
		if (round.met) {
			*ret_split = (struct split){ round.old, round.new, true, true };
			return true;
		}
		if (!box->exact && round.long_run && rounds > ROUNDS_MIN &&
		    (split_at_run_ahead(search, box, rounds, ret_split) ||
		     split_at_run_back(search, box, rounds, ret_split)))
			return true;
		if (rounds >= search->rounds_max) {
			*ret_split = split_at_furthest(search, box);
			return true;
		}
	}
	return false;
}

static void mark(const struct list *list, long from, long to)
{
	for (long i = from; i < to; i++)
		list->changed[list->places[i]] = true;
}

/* Leaves out what is equal at both ends. */
static void box_trim(const struct search *search, struct box *box)
{
	const uint32_t *old = search->old.lines, *new = search->new.lines;

	while (box->old_from < box->old_to && box->new_from < box->new_to &&
	       old[box->old_from] == new[box->new_from]) {
		box->old_from++;
		box->new_from++;
	}
	while (box->old_from < box->old_to && box->new_from < box->new_to &&
	       old[box->old_to - 1] == new[box->new_to - 1]) {
		box->old_to--;
		box->new_to--;
	}
}

static long box_size(const struct box *box)
{
	return box->old_to - box->old_from + box->new_to - box->new_from;
}

/* Boxes still to cross. The larger part of a split waits, so a few dozen are ever here. */
struct waiting {
	struct box boxes[CHAR_BIT * sizeof(long)];
	size_t count;
};

static void cross(struct search *search, struct waiting *waiting, struct box box)
{
	struct split cut;

	box_trim(search, &box);
	if (box.old_from == box.old_to || box.new_from == box.new_to ||
	    !find_split(search, &box, &cut)) {
		mark(&search->old, box.old_from, box.old_to);
		mark(&search->new, box.new_from, box.new_to);
		return;
	}
	struct box before = { box.old_from, cut.old, box.new_from, cut.new, cut.exact_before };
	struct box after = { cut.old, box.old_to, cut.new, box.new_to, cut.exact_after };
	bool larger_first = box_size(&before) > box_size(&after);

	waiting->boxes[waiting->count++] = larger_first ? before : after;
	waiting->boxes[waiting->count++] = larger_first ? after : before;
}

static void search_run(struct search *search)
{
	struct waiting waiting = {
		.boxes = { { 0, search->old.count, 0, search->new.count, false } },
		.count = 1,
	};

	search->rounds_max = (long)about_root((size_t)(search->old.count + search->new.count + 3));
	if (search->rounds_max < ROUNDS_MIN)
		search->rounds_max = ROUNDS_MIN;
	search->ahead.reach = xcalloc((size_t)search->rounds_max * 2 + 6, sizeof(long));
	search->back.reach = xcalloc((size_t)search->rounds_max * 2 + 6, sizeof(long));
	while (waiting.count > 0)
		cross(search, &waiting, waiting.boxes[--waiting.count]);
	free(search->ahead.reach);
	free(search->back.reach);
}

/* Where the lines begin and end that differ: the same lines in front and behind are left out. */
struct range {
	size_t from, old_to, new_to;
};

static struct range trim(const struct diff_pair *pair)
{
	const struct diff_side *old = &pair->old, *new = &pair->new;
	struct range range = { 0, old->count, new->count };

	while (range.from < range.old_to && range.from < range.new_to &&
	       old->lines[range.from] == new->lines[range.from])
		range.from++;
	while (range.old_to > range.from && range.new_to > range.from &&
	       old->lines[range.old_to - 1] == new->lines[range.new_to - 1]) {
		range.old_to--;
		range.new_to--;
	}
	return range;
}

static uint32_t *count_lines(const struct diff_side *side, size_t distinct)
{
	uint32_t *counts = xcalloc(distinct, sizeof(*counts));

	for (size_t i = 0; i < side->count; i++)
		counts[side->lines[i]]++;
	return counts;
}

void diff_search(struct diff_pair *pair)
{
	struct range range = trim(pair);
	owned(free_ptr) uint32_t *in_old = count_lines(&pair->old, pair->distinct);
	owned(free_ptr) uint32_t *in_new = count_lines(&pair->new, pair->distinct);
	struct search search = { .budget = &pair->budget };

	list_make(&pair->old, in_new, range.from, range.old_to, &search.old);
	list_make(&pair->new, in_old, range.from, range.new_to, &search.new);
	search_run(&search);
	list_done(&search.old);
	list_done(&search.new);
}
