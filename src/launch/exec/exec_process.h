/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a resident init starts on request, up to their exec. Private to launch. */
#ifndef LAUNCH_EXEC_PROCESS_H
#define LAUNCH_EXEC_PROCESS_H

#include "launch/exec/attach.h"
#include "launch/setup/identity.h"
#include "launch/setup/start.h"

/* What stays of a command besides its number. */
struct exec_process {
	struct identity user; /* who it runs as */
	struct strv
		secrets; /* names of those that were put where it can read them; until they are removed */
};

/*
 * Starts the command of PACKET as a child of init: everything but session, descriptors, directory and per-process limits
 * is inherited. The packet's first descriptor leads to the client. RET_PROCESS is filled as far as it got, also
 * where it fails. Its pid, or -1.
 */
pid_t exec_process_start(const struct start *start, const struct attach_packet *packet,
			 bool has_group, struct exec_process *ret_process, struct error *err);

/* Ends the process LEADER started as USER: its session and its descendants, and no other process. */
void exec_process_kill(const struct start *start, pid_t leader, const struct identity *user);

#endif
