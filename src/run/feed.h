/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload's standard input, from a caller's descriptor that the payload never gets.
 *
 * A descriptor of the host is a way out: a pipe can be reopened for writing and its next reader takes the bytes for the
 * producer's, a socket keeps the host's network, a file or fifo its inode, and flags are shared. So everything is fed
 * through a pipe of our own. Still nothing is read ahead: what is offered to the payload stays where it was (tee, peek or
 * a file's offset), and only what it took is consumed, so a loop around us keeps the rest. Terminals and other devices
 * cannot be looked into; they are read as they come.
 */
#ifndef RUN_FEED_H
#define RUN_FEED_H

#include "base/core/error.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum feed_kind {
	FEED_NOTHING, /* no input, or the end of it was passed on */
	FEED_PIPE,    /* tee */
	FEED_SOCKET,  /* peek */
	FEED_FILE,    /* by offset */
	FEED_DEVICE,  /* read and passed on */
};

struct feed {
	enum feed_kind kind;
	int from_fd; /* the caller's; borrowed */
	int to_fd;   /* our end of the pipe, or a pty's master; -1 once the end was passed on */
	bool owns_to;
	int look_fd;	/* the payload's end, to see what it left there; -1 for a pty */
	size_t offered; /* bytes that lay in the pipe when we last looked */
	off_t offset;	/* FEED_FILE: of the first byte not taken */
	char *buffer;
	size_t start, end; /* FEED_DEVICE: read, not yet passed on */
	uint64_t pause_ns;
	uint64_t next_look_ns; /* 0: nothing to look at */
};

void feed_init(struct feed *feed);

/* Prepares KIND from FROM_FD through a new pipe; *ret_child_fd is the payload's end, owned by the caller. */
int feed_open(struct feed *feed, enum feed_kind kind, int from_fd, int *ret_child_fd,
	      struct error *err);

/* Passes FROM_FD on to a terminal's master, which stays its owner's. */
void feed_open_terminal(struct feed *feed, int from_fd, int master_fd);

/* Fills *ret_poll when there is something to wait for; returns whether there is. */
bool feed_poll(const struct feed *feed, struct pollfd *ret_poll);

/* When the payload's end should be looked at again (CLOCK_MONOTONIC); 0 for never. */
uint64_t feed_next_look_ns(const struct feed *feed);

/* Does what is due; READY: the descriptor of feed_poll was ready. */
void feed_move(struct feed *feed, bool ready, uint64_t now_ns);

/* After the payload's end: consumes what it took, leaves the rest to the caller. */
void feed_close(struct feed *feed);

#endif
