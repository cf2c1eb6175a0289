/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process makes /proc, /sys, /dev, /run and /tmp anew, and how they get to init. Private to launch.
 *
 * Init does where the supervisor builds the root. Where init builds it itself, the payload has the time.
 */
#ifndef LAUNCH_POPULATE_H
#define LAUNCH_POPULATE_H

#include "launch/setup/start.h"

bool populate_by_payload(const struct spec *spec);

/* Makes them, and the policy file. By a process that has its ids, and capabilities over the sandbox's namespaces. */
int populate_make(const struct start *start, struct fresh *fresh, struct error *err);

/* From the payload to init: its network, and where it is populate_by_payload what it made. Nothing is closed. Without init it ends. */
int populate_send(const struct start *start, int socket_fd, int network_fd,
		  const struct fresh *fresh, struct error *err);

/* The other end: 1 with descriptors that are the caller's, 0 when the payload is gone, or -1. */
int populate_receive(const struct start *start, int socket_fd, int *ret_network_fd,
		     struct fresh *ret_fresh, struct error *err);

#endif
