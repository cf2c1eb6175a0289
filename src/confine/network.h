/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's own network namespace: loopback up, no route, nothing else. */
#ifndef CONFINE_NETWORK_H
#define CONFINE_NETWORK_H

/* Moves the calling process into a new, empty network namespace and brings its loopback up. No heap. */
int network_isolate(void);

/* The calling process's network namespace as a descriptor, through the proc instance at PROC_FD; or -1. No heap. */
int network_open(int proc_fd);

#endif
