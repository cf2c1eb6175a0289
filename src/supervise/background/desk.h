/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between the supervisor of a command in the background and its clients, on a socket.
 *
 *   WAIT out err   answered by NEWS once more than that many bytes of a stream are kept; the end of the command is the
 *                  end of the connection
 *   INPUT          answered by INPUT with the writing end of the command's standard input: who writes waits for room by
 *                  itself, and keeps nobody else from being answered
 *   INPUT_END      our own writing end is closed; answered by DONE
 *   SIGNAL n       passed on to the command's process group; answered by DONE
 *
 * CLOSED answers both of the input's when that has been ended. One message each on SOCK_SEQPACKET, same size always.
 */
#ifndef BACKGROUND_DESK_H
#define BACKGROUND_DESK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum desk_kind {
	DESK_WAIT = 1,
	DESK_NEWS,
	DESK_INPUT,
	DESK_INPUT_END,
	DESK_SIGNAL,
	DESK_DONE,
	DESK_CLOSED,
};

struct desk_message {
	enum desk_kind kind;
	int signal;
	uint64_t out, err; /* bytes that are known already */
};

#define DESK_CLIENTS_MAX 64

struct desk_client {
	int fd;
	bool is_waiting;
	uint64_t out, err;
};

/* The supervisor's side. */
struct desk {
	int listen_fd;
	int epoll_fd; /* readable when there is something to do */
	int input_fd; /* writing end; -1 once the input was ended */
	struct desk_client clients[DESK_CLIENTS_MAX];
	size_t count;
};

/* Listens in DIR_FD as ID.socket. INPUT_FD becomes the desk's. */
int desk_open(struct desk *desk, int dir_fd, const char *id, int input_fd, struct error *err);
void desk_close(struct desk *desk);

/*
 * Does what is ready, without blocking, and answers clients that wait for more than was kept before. Returns a signal to
 * send to the command, or 0.
 */
int desk_attend(struct desk *desk, bool is_ready, uint64_t kept_out, uint64_t kept_err);

/* The other side: connects to ID.socket in DIR_FD; -1 when there is no listener any more. */
int desk_connect(int dir_fd, const char *id);

/*
 * Asks and waits for the answer, at most WAIT_MS. 1; 0 when the time is over; -1 at the command's end. *ret_fd (unless
 * NULL) is the descriptor that came along, or -1; the caller's.
 */
int desk_ask(int fd, struct desk_message *message, int wait_ms, int *ret_fd);

#endif
