/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a resident init starts on request, up to their exec. Private to launch. */
#ifndef LAUNCH_EXEC_PROCESS_H
#define LAUNCH_EXEC_PROCESS_H

#include "launch/exec/attach.h"
#include "launch/setup/start.h"

/*
 * Starts the command of PACKET as a child of init: everything but session, descriptors, directory and per-process limits
 * is inherited. The packet's first descriptor leads to the client. RET_SECRETS gets the names of the secrets that were put
 * where it can read them; they stay until they are removed. Its pid, or -1.
 */
pid_t exec_process_start(const struct start *start, const struct attach_packet *packet,
			 bool has_group, struct strv *ret_secrets, struct error *err);

/* Ends the process LEADER started: its session and its descendants, and no other process. */
void exec_process_kill(pid_t leader);

#endif
