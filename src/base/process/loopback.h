/* SPDX-License-Identifier: Apache-2.0 */
/* Servers on the loopback: an address as people write it, and the socket that listens there. */
#ifndef BASE_LOOPBACK_H
#define BASE_LOOPBACK_H

#include "base/core/error.h"

#include <stddef.h>

/*
 * Listens on ADDRESS: 127.0.0.1:PORT, localhost:PORT or [::1]:PORT; port 0 is any free one. Every other address is refused,
 * in words that begin with FLAG. The socket does not block and is closed on exec.
 */
int loopback_listen(const char *flag, const char *address, int *ret_fd, struct error *err);

/* The port that FD listens on; 0 when it has none. */
unsigned loopback_port(int fd);

/* What a client writes to reach FD: 127.0.0.1:PORT or [::1]:PORT. */
void loopback_name(int fd, char *ret_name, size_t size);

#endif
