/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls run and which wait. Decided by figures alone: nothing here is read, sent or waited for.
 *
 * A free place goes to the highest priority that waits; among those to the caller with the fewest running, then to the one whose
 * last start is longest ago; and of one caller's calls to the first. A call counts for one priority more for each QUEUE_AGE_NS that
 * it has waited, so that none waits for ever.
 */
#ifndef APP_POOL_QUEUE_H
#define APP_POOL_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define QUEUE_PLACES 2048
#define QUEUE_AGE_NS (UINT64_C(20) * 1000000000)

enum queue_priority { QUEUE_LOW, QUEUE_NORMAL, QUEUE_HIGH };

struct queue_limits {
	unsigned running; /* at once */
	unsigned
		waiting; /* beyond, and as many again over their rates; at most half of one caller */
	unsigned per_minute; /* starts of one caller; 0: any number */
};

enum queue_state { QUEUE_NONE, QUEUE_WAITS, QUEUE_RUNS };

struct queue_place {
	enum queue_state state;
	pid_t pid;
	bool insists; /* never refused: one of several of a call that is bounded otherwise */
	unsigned priority, caller; /* of callers[] */
	uint64_t asked_ns, began_ns;
};

/* Calls of one session, as setsid(2) means it: a terminal, a service, an agent that was started apart. */
struct queue_caller {
	pid_t session;
	unsigned running, waiting;
	uint64_t last_ns; /* of its last start */
	uint64_t due_ns;  /* from when on its rate is used up no more */
};

struct queue {
	struct queue_limits limits;
	struct queue_place places[QUEUE_PLACES]; /* by the server's numbers */
	struct queue_caller callers[QUEUE_PLACES];
	unsigned running, waiting;
	uint64_t started, refused; /* so far */
};

/* A call: QUEUE_NONE where too many wait already. One that may run at once does, unless others wait that may run, too. */
enum queue_state queue_enter(struct queue *queue, size_t place, const struct queue_place *call,
			     pid_t session);

/* It has ended, or was given up. */
void queue_leave(struct queue *queue, size_t place);

/* The next one that may run, which it does from now on; -1: none, and *ret_wait_ns until a rate lets one. */
int queue_next(struct queue *queue, uint64_t now_ns, uint64_t *ret_wait_ns);

/* What a machine with so many cores and bytes of memory runs at once. */
unsigned queue_default(unsigned cores, uint64_t memory_bytes);

/* LIMIT under pressure, in percent of the time that something waited for a processor or for memory; -1: it is not known. */
unsigned queue_under_pressure(unsigned limit, unsigned cores, int cpu, int memory);

#endif
