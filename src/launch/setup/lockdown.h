/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process of the sandbox gives up for good, step by step: the payload of a run, or an init that stays and starts
 * commands itself. Private to launch.
 */
#ifndef LAUNCH_LOCKDOWN_H
#define LAUNCH_LOCKDOWN_H

#include "launch/setup/start.h"

struct lockdown {
	const struct start *start;
	int proc_fd; /* an instance of its own, never attached: nothing is mounted over its files */
	bool has_group;
	uint32_t missing; /* layers found not to hold */
};

/* Ids, session, keyring, the order in which memory is freed when there is none. The id maps are written by then. */
int lockdown_session(const struct lockdown *lockdown, struct error *err);

/* Enters the control groups by their descriptors, and hides what is above them. */
int lockdown_groups(struct lockdown *lockdown, const int *enter_fds, size_t count,
		    struct error *err);

int lockdown_privileges(struct error *err);

/*
 * The same for an init; where spec_may_change_ids, it keeps the capabilities to start a command under another
 * one and to end it. Every command drops them first of all (identity_leave_init).
 */
int lockdown_init_privileges(const struct spec *spec, struct error *err);

/* Sends the supervisor PROC and LISTENER, between them loads the filter. */
int lockdown_filter(const struct lockdown *lockdown, struct error *err);

/* Lets every signal through again: the supervisor's mask is inherited. */
void lockdown_signals(void);

#endif
