/* The processes that a resident init starts on request, up to their exec. Private to launch. */
#ifndef LAUNCH_MEMBER_H
#define LAUNCH_MEMBER_H

#include "launch/attach.h"
#include "launch/start.h"

/*
 * Starts the command of PACKET as a child of init: everything but session, descriptors, directory and per-process limits
 * is inherited. The packet's first descriptor leads to the client. Its number, or -1 with errno.
 */
pid_t member_start(const struct start *start, const struct attach_packet *packet, bool has_group);

/* Ends the process LEADER started: its session, and whoever descends from it. Never anybody else. */
void member_kill(pid_t leader);

#endif
