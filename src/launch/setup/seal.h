/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process of the sandbox gives up for good, step by step: the payload of a run, or an init that stays and starts
 * commands itself. Private to launch.
 */
#ifndef LAUNCH_SEAL_H
#define LAUNCH_SEAL_H

#include "launch/setup/start.h"

struct sealing {
	const struct start *start;
	int proc_fd; /* an instance of its own, never attached: nothing is mounted over its files */
	bool has_group;
	uint32_t missing; /* layers found not to hold */
};

/* Ids, session, keyring, the order in which memory is freed when there is none. The id maps are written by then. */
int seal_session(const struct sealing *sealing, struct error *err);

/* Enters the control groups by their descriptors, and hides what is above them. */
int seal_groups(struct sealing *sealing, const int *enter_fds, size_t count, struct error *err);

int seal_privileges(struct error *err);

/* Sends the supervisor PROC and LISTENER, between them loads the filter. */
int seal_filter(const struct sealing *sealing, struct error *err);

/* Lets every signal through again: the supervisor's mask is inherited. */
void seal_signals(void);

#endif
