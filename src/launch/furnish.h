/*
 * Who makes /proc, /sys, /dev, /run and /tmp anew, and how they get to init. Private to launch.
 *
 * Init does where the supervisor builds the root. Where init builds it itself, the payload has the time.
 */
#ifndef LAUNCH_FURNISH_H
#define LAUNCH_FURNISH_H

#include "launch/start.h"

bool furnish_by_payload(const struct spec *spec);

/* Makes them, and the policy file. By a process that has its ids, and capabilities over the sandbox's namespaces. */
int furnish_make(const struct start *start, struct fresh *fresh, struct error *err);

/* From the payload to init: its network, and where it is furnish_by_payload what it made. FRESH keeps its own. */
int furnish_send(const struct start *start, int socket_fd, int network_fd,
		 const struct fresh *fresh, struct error *err);

/* The other end: 1 with descriptors that are the caller's, 0 when the payload is gone, or -1. */
int furnish_receive(const struct start *start, int socket_fd, int *ret_network_fd,
		    struct fresh *ret_fresh, struct error *err);

#endif
