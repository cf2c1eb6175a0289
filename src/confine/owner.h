/* SPDX-License-Identifier: Apache-2.0 */
/* Names that carry the owner of a temporary object, so that what dead supervisors left can be removed by the next process that finds it. */
#ifndef CONFINE_OWNER_H
#define CONFINE_OWNER_H

#include <stdbool.h>

#define OWNER_NAME_SIZE 80
#define OWNER_PREFIX "aisbx-"

/* What belongs to RUN_ID of this process is called; the name holds pid namespace, pid and run. */
void owner_name(const char *run_id, char ret_name[static OWNER_NAME_SIZE]);

/*
 * Whether NAME is such a name and the process in it is gone. One of another pid namespace cannot be asked for: it counts
 * as gone when the run is old, so a removal by this alone must be safe for what is in use.
 */
bool owner_is_gone(const char *name);

/* Whether the run in NAME began so lately that its processes may still be ending, if it was killed in its start. */
bool owner_is_young(const char *name);

#endif
