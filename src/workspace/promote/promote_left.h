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
/* Whether something that goes to the host is of the directory, or takes it or its old place away. */
bool promote_applies_moved(const struct promote *promote, const struct moved *moved);

/*
 * promote_unfold.c: the number of renamed directories whose own path an older layer covers, or -1; and what makes those that
 * the promotion concerns the layers' own, once nothing else can refuse it.
 */
int promote_find_covered(const struct promote *promote, struct error *err);
int promote_unfold(const struct promote *promote, struct error *err);

#endif
