/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One listener for every TCP port of a sandbox's network: a rule of nf_tables in that network hands it what is sent
 * anywhere but to the loopback. The packets stay as they are, so the local address and port of an accepted
 * connection are where the program meant to connect to, and a server inside can have any port.
 */
#ifndef NET_REDIRECT_H
#define NET_REDIRECT_H

#include <stdbool.h>

/* The listener, in the network of this process; needs the capabilities of its owner. 0, or -1 with errno. */
int redirect_open(int *ret_fd);

/* Whether this kernel lets the caller do that in a network of its own: tried in a process that ends at once. */
bool redirect_works(void);

#endif
