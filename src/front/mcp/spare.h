/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that wait for the call they will perform: making one is much of what a small call takes, and so is its end.
 *
 * A fresh one is made while the server is idle. One whose call left nothing behind in it (a command in a sandbox with a
 * supervisor of its own) is used again: it reports that behind the answer, and waits for another call. Each gets the
 * request itself and reads that again, so that it knows what a child made for the call would have known. Calls that come
 * to more than their request (input for the verb, a person's answer) have a child of their own.
 */
#ifndef FRONT_MCP_SPARE_H
#define FRONT_MCP_SPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Of its process, while it waits. */
#define SPARE_NAME "aisbx-spare"
/* Larger requests would have to be waited for. */
#define SPARE_REQUEST_MAX ((size_t)16 << 10)

struct call;
struct server;

/* A quiet time before one is made: a client that calls again at once does not wait for that. */
#define SPARE_QUIET_MS 1
/* So many calls to a child, whatever they leave behind. */
#define SPARE_CALLS_MAX 256

struct spare {
	pid_t pid; /* 0: there is none */
	int pid_fd, order_fd, report_fd;
};

struct spares {
	struct spare fresh, used;
	bool is_wanted; /* calls have come */
};

#define SPARE_INIT                                            \
	{                                                     \
		.pid_fd = -1, .order_fd = -1, .report_fd = -1 \
	}
#define SPARES_INIT                                     \
	{                                               \
		.fresh = SPARE_INIT, .used = SPARE_INIT \
	}

/* Whether one is to be made: there is none, and a call has come before; a client that never calls needs none. */
bool spare_is_due(struct server *server);
void spare_prepare(struct server *server);

/* Has one perform the call, and puts it into the call as its child. False: there is none, or the call is not for it. */
bool spare_take(struct server *server, struct call *call);

/* The call's child has answered and takes another. False: it is not wanted, and ends. */
bool spare_return(struct server *server, struct call *call);

void spare_end(struct server *server);

#endif
