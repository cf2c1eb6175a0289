/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a command, for guard: parsed where it is a text for a shell, or starts others. */
#ifndef APP_GUARD_READ_H
#define APP_GUARD_READ_H

#include "base/core/error.h"
#include "decide/guard/guard.h"

struct guard_reading;

/*
 * Gives REQUEST its parts, which *ret_reading owns; the request is left as it is where this build has no parser.
 * ENVIRONMENT: of the caller. ERROR_LIBRARIES when this program cannot parse.
 */
int guard_read(struct guard_request *request, const char *const *environment,
	       struct guard_reading **ret_reading, struct error *err);
void guard_reading_free(struct guard_reading **reading);

#endif
