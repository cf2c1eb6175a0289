/* SPDX-License-Identifier: Apache-2.0 */
/* How far a bundle has come in one stage: names and steps. */
#include "decide/stage/state.h"

#include <stddef.h>
#include <string.h>

#define BIT(state) (1u << (state))

static const struct {
	const char *name;
	unsigned next;
} states[STAGE_STATES] = {
	[STAGE_WAITING] = { "waiting", BIT(STAGE_PRECHECKING) },
	[STAGE_PRECHECKING] = { "prechecking",
				BIT(STAGE_PRECHECKING) | BIT(STAGE_APPLYING) | BIT(STAGE_REFUSED) },
	/* Killed before it was applied, it is checked again: the target may be another by now. */
	[STAGE_APPLYING] = { "applying", BIT(STAGE_POSTCHECKING) | BIT(STAGE_PRECHECKING) |
						 BIT(STAGE_REFUSED) },
	[STAGE_POSTCHECKING] = { "postchecking", BIT(STAGE_POSTCHECKING) | BIT(STAGE_LIVE) |
							 BIT(STAGE_UNDOING) |
							 BIT(STAGE_ROLLED_BACK) },
	[STAGE_LIVE] = { "live", BIT(STAGE_ROLLED_BACK) },
	[STAGE_UNDOING] = { "undoing", BIT(STAGE_UNDOING) | BIT(STAGE_ROLLED_BACK) },
	[STAGE_ROLLED_BACK] = { "rolled-back", BIT(STAGE_PRECHECKING) },
	[STAGE_REFUSED] = { "refused", BIT(STAGE_PRECHECKING) },
};

const char *stage_state_name(enum stage_state state)
{
	return states[state].name;
}

bool stage_state_find(const char *name, enum stage_state *ret_state)
{
	for (size_t i = 0; i < STAGE_STATES; i++) {
		if (strcmp(states[i].name, name) != 0)
			continue;
		*ret_state = (enum stage_state)i;
		return true;
	}
	return false;
}

bool stage_may_move(enum stage_state from, enum stage_state to)
{
	return states[from].next & BIT(to);
}
