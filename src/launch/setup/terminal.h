/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's own terminal: a pty of its own devpts, made by the payload, its master handed to the supervisor. */
#ifndef LAUNCH_TERMINAL_H
#define LAUNCH_TERMINAL_H

#include "base/core/error.h"
#include "launch/launch.h"

#include <sys/ioctl.h>

/*
 * Makes a pty of SIZE, makes its slave side the calling session's terminal and the descriptors that TTY asks for. The
 * caller owns the master. No heap.
 */
int terminal_open(const bool tty[3], const struct winsize *size, int *ret_master,
		  struct error *err);

/* Does nothing when IO asks for no terminal. SOCKET_FD is where the master goes. No heap. */
int terminal_attach(const struct launch_io *io, int socket_fd, struct error *err);

#endif
