/* SPDX-License-Identifier: Apache-2.0 */
/* What the host has that the sandbox never saw: its absence inside is no deletion. Private to delta. */
#ifndef WORKSPACE_DELTA_UNSEEN_H
#define WORKSPACE_DELTA_UNSEEN_H

#include "workspace/delta/delta_parts.h"

/* Whether the older point is the host, and no directory of it shows through NEW, a directory. */
bool delta_hides_host(const struct delta_walk *walk, const struct view_found *new);
/* Each answers 1, 0, or -1 with the walk's error. OLD is the host's directory at the walk's path, NEW the sandbox's. */
int delta_is_unseen(struct delta_walk *walk, const struct view_found *new,
		    const struct view_found *old);
/* Whether PATH, in a directory that is unseen, is the host's alone. */
int delta_is_unseen_entry(struct delta_walk *walk, const char *path);
/* Whether PATH has a record, and it is that the host had nothing there. */
int delta_was_absent(struct delta_walk *walk, const char *path);

#endif
