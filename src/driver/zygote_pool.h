/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zygote pool: the zygotes (wasm/zygote.h) of one process and its children. Only in the program with libraries.
 *
 * The owner gives the runs it forks one end of a socket and waits for the other to become readable: then, and only
 * then, there is something to do, and zygote_pool_step starts the process that does it. That process, its keepers and their
 * sandboxes end with the owner, however it ends.
 */
#ifndef DRIVER_ZYGOTE_POOL_H
#define DRIVER_ZYGOTE_POOL_H

#include "base/core/error.h"

#include <sys/types.h>

struct zygote_pool {
	int run_fd; /* for the runs (driver_io) */
	int own_fd; /* the other end */
	pid_t pid;  /* of the process; 0: none yet */
	int end_fd; /* readable when that has ended; -1: none */
};

#define ZYGOTE_POOL_INIT      \
	{                     \
		-1, -1, 0, -1 \
	}

int zygote_pool_open(struct zygote_pool *ret_zygote_pool, struct error *err);

/* What to wait for until it is readable; -1: nothing. */
int zygote_pool_poll_fd(const struct zygote_pool *zygote_pool);

/* Does what is to be done then. */
void zygote_pool_step(struct zygote_pool *zygote_pool);
/* The same for a caller that does not know whether it is. */
void zygote_pool_look(struct zygote_pool *zygote_pool);

/* Ends all zygotes, and waits for that. */
void zygote_pool_close(struct zygote_pool *zygote_pool);

#endif
