/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets in directories of one user's own, by which his processes find each other. */
#ifndef BASE_LOCAL_SOCKET_H
#define BASE_LOCAL_SOCKET_H

#include <stdbool.h>

/*
 * A listening socket NAME in DIR_FD, for its owner only; it keeps messages apart and does not block. By descriptor: the
 * path of the directory may be longer than an address has room for. -1 with errno.
 */
int local_socket_listen(int dir_fd, const char *name, int waiting_max);

/* The next connection of this user's own, with FLAGS of accept4; -1 with errno when there is none. */
int local_socket_accept(int listen_fd, int flags);

/*
 * Connects to it; blocks where the caller is to wait, for at most WAIT_MS unless that is 0. -1 with errno: ENOENT or
 * ECONNREFUSED when it has no listener, EAGAIN when the time is over.
 */
int local_socket_connect(int dir_fd, const char *name, unsigned wait_ms);

/* Whether the other end is this user's, whatever the modes of the directories above say. */
bool local_socket_is_ours(int fd);

#endif
