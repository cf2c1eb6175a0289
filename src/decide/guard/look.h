/* SPDX-License-Identifier: Apache-2.0 */
/* What can be seen of one command. Private to guard. */
#ifndef GUARD_LOOK_H
#define GUARD_LOOK_H

#include "decide/guard/guard.h"

/* Raises decision and risk, never lowers them, and adds the reason "WHY: WHAT". */
void guard_raise(struct guard_verdict *verdict, enum guard_decision decision, enum guard_risk risk,
		 const char *why, const char *what);

/* Where WORD leads, PATH_MAX bytes, links resolved; false when that cannot be determined. */
bool guard_resolve(const struct guard_request *request, const char *word, char *ret_path);

/* Block devices, credentials, the store. */
void guard_look_at_file(const struct guard_request *request, const char *path,
			struct guard_verdict *verdict);
/* The files, writing and network of the request's command. */
void guard_look_at_command(const struct guard_request *request, struct guard_verdict *verdict);

/* Whether NAME is found first, on the caller's PATH, in a directory that only root can write to. */
bool guard_is_trusted(const struct guard_request *request, const char *name);
/* Whether there is no such program on it at all. */
bool guard_is_absent(const struct guard_request *request, const char *name);

/* Why the command may not run directly; NULL when it may. RET_WHAT: what that is about. */
const char *guard_why_not_direct(const struct guard_request *request, const char **ret_what);

/* The strictest of the request's parts. */
void guard_decide_parts(const struct guard_request *request, struct guard_verdict *verdict);

#endif
