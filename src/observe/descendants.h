/* SPDX-License-Identifier: Apache-2.0 */
/* All processes below one, where no pid namespace holds them together. */
#ifndef OBSERVE_DESCENDANTS_H
#define OBSERVE_DESCENDANTS_H

#include "observe/tree_sample.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether this kernel tells children of a process. */
bool descendants_are_known(void);

/*
 * Calls VISIT for each process below PID, parents first. Some that are started or reparented meanwhile may be missed: where that
 * matters the caller looks again.
 */
void descendants_visit(pid_t pid, void (*visit)(pid_t pid, void *cookie), void *cookie);

/* What they use together. */
void descendants_sample(pid_t pid, struct tree_usage *ret_usage);

#endif
