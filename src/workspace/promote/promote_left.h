/* SPDX-License-Identifier: Apache-2.0 */
/* What stays in the sandbox by the caller's request. Private to promote. */
#ifndef WORKSPACE_PROMOTE_LEFT_H
#define WORKSPACE_PROMOTE_LEFT_H

#include "workspace/promote/promote_parts.h"

/* Takes the request's `leave`, and what cannot go without it, out of the selection. */
void promote_leave_asked(struct promote *promote);

/* promote_select.c: the first item that lies below directory PATH, or comes after all that could. */
size_t promote_find_below(const struct promote *promote, const char *path);

/* promote_moved.c: a renamed directory of which something is left is left whole; false when none was missing. */
bool promote_spread_left(struct promote *promote);

/* promote_unfold.c: the number of renamed directories that it made the layers' own; -1 on error. */
int promote_unfold(const struct promote *promote, struct error *err);

#endif
