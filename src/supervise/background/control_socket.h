/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between the supervisor of a command in the background and its clients, on a socket.
 *
 *   WAIT out err   answered by NEWS once more than that many bytes of a stream are kept; the end of the command is the
 *                  end of the connection
 *   INPUT          answered by INPUT with the writing end of the command's standard input: a writer waits for room by
 *                  itself, and delays no other client
 *   INPUT_END      our own writing end is closed; answered by DONE
 *   SIGNAL n       passed on to the command's process group; answered by DONE
 *
 * CLOSED answers both of the input's when that has been ended. One message each on SOCK_SEQPACKET, same size always.
 */
#ifndef BACKGROUND_CONTROL_SOCKET_H
#define BACKGROUND_CONTROL_SOCKET_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum control_kind {
	CONTROL_WAIT = 1,
	CONTROL_NEWS,
	CONTROL_INPUT,
	CONTROL_INPUT_END,
	CONTROL_SIGNAL,
	CONTROL_DONE,
	CONTROL_CLOSED,
};

struct control_message {
	enum control_kind kind;
	int signal;
	uint64_t out, err; /* bytes that are known already */
};

#define CONTROL_CLIENTS_MAX 64

struct control_socket_client {
	int fd;
	bool is_waiting;
	uint64_t out, err;
};

/* The supervisor's side. */
struct control_socket {
	int listen_fd;
	int epoll_fd; /* readable when there is something to do */
	int input_fd; /* writing end; -1 once the input was ended */
	struct control_socket_client clients[CONTROL_CLIENTS_MAX];
	size_t count;
};

/* Listens in DIR_FD as ID.socket. INPUT_FD becomes the control socket's. */
int control_socket_open(struct control_socket *control, int dir_fd, const char *id, int input_fd,
			struct error *err);
void control_socket_close(struct control_socket *control);

/*
 * Does what is ready, without blocking, and answers clients that wait for more than was kept before. Returns a signal to
 * send to the command, or 0.
 */
int control_socket_attend(struct control_socket *control, bool is_ready, uint64_t kept_out,
			  uint64_t kept_err);

/* The other side: connects to ID.socket in DIR_FD; -1 when there is no listener any more. */
int control_socket_connect(int dir_fd, const char *id);

/*
 * Asks and waits for the answer, at most WAIT_MS. 1; 0 when the time is over; -1 at the command's end. *ret_fd (unless
 * NULL) is the descriptor that came along, or -1; the caller's.
 */
int control_socket_ask(int fd, struct control_message *message, int wait_ms, int *ret_fd);

#endif
