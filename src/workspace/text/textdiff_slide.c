/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a change could stand at several places, one is chosen.
 *
 * A run of changed lines that is followed by a line equal to its first can move down by one, and up likewise. It goes
 * to the lowest place, or, when on its way it passes a change of the other side, to the lowest such place: then
 * a replacement stays a replacement instead of becoming a removal here and an addition there. Runs that meet become one.
 */
#include "workspace/text/textdiff_parts.h"

/* A run of changed lines, or the empty place between two unchanged ones: both sides have equally many of these. */
struct run {
	size_t start, end;
};

static void run_first(const struct diff_side *side, struct run *run)
{
	*run = (struct run){ 0, 0 };
	while (side->changed[run->end])
		run->end++;
}

static bool run_next(const struct diff_side *side, struct run *run)
{
	if (run->end >= side->count)
		return false;
	run->start = ++run->end;
	while (side->changed[run->end])
		run->end++;
	return true;
}

static bool run_previous(const struct diff_side *side, struct run *run)
{
	if (run->start == 0)
		return false;
	run->end = --run->start;
	while (run->start > 0 && side->changed[run->start - 1])
		run->start--;
	return true;
}

static bool move_up(struct diff_side *side, struct run *run)
{
	if (run->start == 0 || side->lines[run->start - 1] != side->lines[run->end - 1])
		return false;
	side->changed[--run->start] = true;
	side->changed[--run->end] = false;
	while (run->start > 0 && side->changed[run->start - 1])
		run->start--;
	return true;
}

static bool move_down(struct diff_side *side, struct run *run)
{
	if (run->end >= side->count || side->lines[run->start] != side->lines[run->end])
		return false;
	side->changed[run->start++] = false;
	side->changed[run->end++] = true;
	while (side->changed[run->end])
		run->end++;
	return true;
}

/* A run, and the other side's at the same place. */
struct place {
	struct diff_side *side, *other;
	struct run run, beside;
	uint64_t *budget;
};

static bool place_up(struct place *place)
{
	if (*place->budget == 0 || !move_up(place->side, &place->run))
		return false;
	--*place->budget;
	return run_previous(place->other, &place->beside);
}

static bool place_down(struct place *place)
{
	if (*place->budget == 0 || !move_down(place->side, &place->run))
		return false;
	--*place->budget;
	return run_next(place->other, &place->beside);
}

static bool meets_change(const struct place *place)
{
	return place->beside.end > place->beside.start;
}

/* All the way up, all the way down, again when it met others; true when there was a change beside it on the way. */
static bool sweep(struct place *place, bool *ret_moved)
{
	size_t length, highest;
	bool met;

	do {
		length = place->run.end - place->run.start;
		while (place_up(place))
			;
		highest = place->run.end;
		met = meets_change(place);
		while (place_down(place))
			met = meets_change(place) || met;
	} while (length != place->run.end - place->run.start);
	*ret_moved = place->run.end != highest;
	return met;
}

void diff_slide(struct diff_side *side, struct diff_side *other, uint64_t *budget)
{
	struct place place = { .side = side, .other = other, .budget = budget };

	run_first(side, &place.run);
	run_first(other, &place.beside);
	do {
		bool moved = false;

		if (place.run.end == place.run.start)
			continue;
		if (!sweep(&place, &moved) || !moved)
			continue;
		while (!meets_change(&place) && place_up(&place))
			;
	} while (run_next(side, &place.run) && run_next(other, &place.beside));
}
