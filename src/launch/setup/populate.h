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

/*
 * What the payload gives init in any case. The last descriptor of a detached mount is closed for milliseconds (see struct
 * root_held), and the payload loses its own in exec: init keeps one for longer, and has time (reap.c).
 */
struct populate_gift {
	int network_fd;
	int proc_fd; /* the payload's own proc, a detached mount */
};

/* From the payload to init: that, and where it is populate_by_payload what it made. Nothing is closed. Without init it ends. */
int populate_send(const struct start *start, int socket_fd, const struct populate_gift *gift,
		  const struct fresh *fresh, struct error *err);

/* The other end: 1 with descriptors that are the caller's, 0 when the payload is gone, or -1. */
int populate_receive(const struct start *start, int socket_fd, struct populate_gift *ret_gift,
		     struct fresh *ret_fresh, struct error *err);

#endif
