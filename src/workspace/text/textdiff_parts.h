/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages of a comparison of lines, each in its file, called by textdiff.c only.
 *
 *   intern   equal lines get equal numbers
 *   search   lines that cannot match are set aside, the shortest way through the others is found
 *   slide    where a change could stand at several places, one is chosen
 *
 * A three-way merge is right whatever the stages choose, but whether it is clean depends on it. Every choice here is
 * therefore the one git makes, found by comparing with it: what git merges, merges, and to the same bytes.
 */
#ifndef WORKSPACE_TEXTDIFF_PARTS_H
#define WORKSPACE_TEXTDIFF_PARTS_H

#include "workspace/text/textdiff.h"

#include <stdint.h>

struct diff_side {
	const struct text *text;
	uint32_t *lines; /* the number of each line's text */
	size_t count;
	bool *changed; /* of each line; one more than there are lines, the last is false */
};

struct diff_pair {
	struct diff_side old, new;
	size_t distinct; /* numbers given */
	uint64_t budget; /* steps until what is left counts as replaced as a whole */
};

void diff_intern(struct diff_pair *pair);
/* Fills `changed` of both sides. */
void diff_search(struct diff_pair *pair);
/* Moves the changes of SIDE; both sides stay in step. */
void diff_slide(struct diff_side *side, struct diff_side *other, uint64_t *budget);

#endif
