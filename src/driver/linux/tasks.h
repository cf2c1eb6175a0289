/*
 * The limit on processes and threads where no cgroup keeps it: the supervisor is asked before each new one.
 *
 * An upper bound (the last count and what was admitted since) answers nearly always; only a bound at the limit makes
 * it count again. Tasks that were admitted and do not exist yet are not seen by a count, so several that start at the
 * same moment can overshoot by as many; RLIMIT_NPROC, a little above, ends that.
 */
#ifndef DRIVER_LINUX_TASKS_H
#define DRIVER_LINUX_TASKS_H

#include <stdbool.h>
#include <stdint.h>

struct tasks {
	uint64_t limit;
	uint64_t bound;	 /* there are at most so many */
	uint64_t counts; /* how often it had to count */
	uint64_t refused;
};

/* A sandbox that has one task: the command. */
void tasks_init(struct tasks *tasks, uint64_t limit);

/* Whether one more may start; PROC_FD as in tree_count. */
bool tasks_admit(struct tasks *tasks, int proc_fd);

#endif
