/* SPDX-License-Identifier: Apache-2.0 */
/* One call being followed. Private to follow's files. */
#ifndef SCAN_FOLLOW_CALL_H
#define SCAN_FOLLOW_CALL_H

#include "scan/follow/follow.h"

struct call {
	struct follow *follow;
	uint32_t node;
};

/* A text that the call puts together. */
const struct abstract_value *call_made_text(const struct call *call, const struct str *text);
/* The text of an argument, or NULL. */
const struct abstract_value *call_text(const struct call *call, unsigned position);
/* TEXT with its letters turned by METHOD: reverse, lower, toUpperCase. */
const struct abstract_value *call_changed(const struct call *call,
					  const struct abstract_value *text, const char *method);
/* What the call comes to where its callee is a method of a text or a list; NULL. */
const struct abstract_value *call_method(const struct call *call, uint32_t callee);

#endif
