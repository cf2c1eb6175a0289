/*
 * A nursery: the zygotes (wasm/zygote.h) of one process and its children. Only in the program with libraries.
 *
 * Whoever owns it gives the runs it forks one end of a socket and waits for the other to become readable: then, and only
 * then, there is something to do, and nursery_step starts the process that does it. That process, its keepers and their
 * sandboxes end with the owner, however it ends.
 */
#ifndef DRIVER_NURSERY_H
#define DRIVER_NURSERY_H

#include "base/error.h"

#include <sys/types.h>

struct nursery {
	int run_fd; /* for the runs (driver_io) */
	int own_fd; /* the other end */
	pid_t pid;  /* of the process; 0: none yet */
	int end_fd; /* readable when that has ended; -1: none */
};

#define NURSERY_INIT          \
	{                     \
		-1, -1, 0, -1 \
	}

int nursery_open(struct nursery *ret_nursery, struct error *err);

/* What to wait for until it is readable; -1: nothing. */
int nursery_poll_fd(const struct nursery *nursery);

/* Does what is to be done then. */
void nursery_step(struct nursery *nursery);
/* The same for who does not know whether it is. */
void nursery_look(struct nursery *nursery);

/* Ends all zygotes, and waits for that. */
void nursery_close(struct nursery *nursery);

#endif
