/* The processes that a resident init starts on request, up to their exec. Private to launch. */
#ifndef LAUNCH_MEMBER_H
#define LAUNCH_MEMBER_H

#include "launch/attach.h"
#include "launch/start.h"

/*
 * Becomes the command of PACKET, in a child of init just forked: everything but session, descriptors, directory and
 * per-process limits was inherited. The packet's first descriptor leads to the client.
 */
_Noreturn void member_main(const struct start *start, struct attach_packet *packet, bool has_group);

/* Ends the process LEADER started: its session, and whoever descends from it. Never anybody else. */
void member_kill(pid_t leader);

#endif
