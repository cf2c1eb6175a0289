/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames between the E2B server and its agent in a sandbox (aisbx-envd): requests and answers of many clients over two pipes.
 *
 *   server                               agent
 *   OPEN  words of the request  ------->
 *   DATA  of its body           ------->
 *                               <------- CREDIT  for so much more of the body
 *   END   of its body           ------->
 *                               <------- HEAD    status, kind, type of the answer
 *                               <------- DATA    of it
 *   CREDIT for so much more     ------->
 *                               <------- END     of it
 *   CANCEL the client has gone  ------->
 *                               <------- RUN     what OPEN started has ended, be the client there or not
 *
 * A channel is one request. Either side may send LINK_WINDOW bytes of data ahead of the other's credit, so that a slow client
 * keeps no other channel waiting. Neither side trusts the other: what is damaged ends the link.
 */
#ifndef ENVD_LINK_H
#define ENVD_LINK_H

#include "base/core/str.h"

#include <stdint.h>

#define LINK_HEAD_SIZE 9
#define LINK_DATA_MAX ((size_t)64 << 10)
#define LINK_WINDOW ((size_t)128 << 10)

enum link_kind {
	LINK_OPEN = 'O', /* "METHOD", "PATH", then "name=value": texts, each with its NUL */
	LINK_DATA = 'D',
	LINK_END = 'E',
	LINK_CANCEL = 'C',
	LINK_CREDIT = 'A', /* 4 bytes: how much was used */
	LINK_HEAD =
		'H',	/* 2 bytes of status, 's' for a stream or 'w' for one body, then the type */
	LINK_RUN = 'R', /* a note (envd/note.h), once for each command or code that was passed on */
};

struct link_frame {
	enum link_kind kind;
	uint32_t channel;
	const char *bytes; /* valid until the next call */
	size_t len;
};

struct link {
	int in_fd, out_fd; /* neither blocks; owned */
	struct str in, out;
	size_t in_at, out_at;
};

#define LINK_INIT                         \
	{                                 \
		.in_fd = -1, .out_fd = -1 \
	}

void link_done(struct link *link);

/* LEN is at most LINK_DATA_MAX. */
void link_add(struct link *link, enum link_kind kind, uint32_t channel, const void *bytes,
	      size_t len);
void link_add_credit(struct link *link, uint32_t channel, size_t len);
/* What CREDIT says; 0 for what is none. */
size_t link_credit_of(const struct link_frame *frame);

/* What waits to be written. */
size_t link_waiting(const struct link *link);
/* Writes what the pipe takes. 0, or -1: the other side is gone. */
int link_write(struct link *link);
/* Reads once. 1, 0 when there is nothing now, or -1: the other side is gone. */
int link_read(struct link *link);
/* The next whole frame: 1, 0 when there is none yet, or -1: damaged. */
int link_next(struct link *link, struct link_frame *ret_frame);

#endif
