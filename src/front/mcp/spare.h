/*
 * A child made ahead of the call it will perform: the fork is much of what a small call takes, and between calls the
 * server has nothing better to do.
 *
 * It gets the request itself and reads that again, so that it knows what a child made for the call would have known. Calls
 * that come to more than their request (input for the verb, a person's answer) have a child of their own.
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

struct spare {
	pid_t pid; /* 0: there is none */
	int pid_fd, order_fd, report_fd;
	bool is_wanted; /* calls have come */
};

#define SPARE_INIT                                            \
	{                                                     \
		.pid_fd = -1, .order_fd = -1, .report_fd = -1 \
	}

/* Makes one, when there is none and a call has come before: whoever never calls needs none. */
void spare_prepare(struct server *server);

/* Has it perform the call, and puts it into the call as its child. False: there is none, or the call is not for it. */
bool spare_take(struct server *server, struct call *call);

void spare_end(struct server *server);

#endif
