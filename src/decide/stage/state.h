/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a bundle has come in one stage.
 *
 *   waiting ──> prechecking ──> applying ──> postchecking ──> live
 *                    │             │              │             │ (taken back by hand)
 *                    └──> refused <┘              v             │
 *                                              undoing ──> rolled-back
 *
 * Each step is on disk before what it names begins, so the command after a kill knows where to go on: what was being
 * checked is checked again, what was being applied either was or was not, what was being taken back is taken back.
 * A stage that refused, or was rolled back, may be tried again.
 */
#ifndef STAGE_STATE_H
#define STAGE_STATE_H

#include <stdbool.h>

enum stage_state {
	STAGE_WAITING,
	STAGE_PRECHECKING,
	STAGE_APPLYING,
	STAGE_POSTCHECKING,
	STAGE_LIVE,
	STAGE_UNDOING,
	STAGE_ROLLED_BACK,
	STAGE_REFUSED,
	STAGE_STATES
};

const char *stage_state_name(enum stage_state state);
bool stage_state_find(const char *name, enum stage_state *ret_state);

/* Whether that is a step of the picture above. */
bool stage_may_move(enum stage_state from, enum stage_state to);

#endif
