/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent waits for: descriptors with a function each. */
#ifndef ENVD_LOOP_H
#define ENVD_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct source {
	int loop_fd;	 /* where it is watched */
	int fd;		 /* -1: none */
	uint32_t events; /* of epoll, as they are watched now; 0: not */
	void (*ready)(struct source *source, uint32_t events);
};

#define SOURCE_OF(type, member, source) \
	((struct type *)(void *)((char *)(source)-offsetof(struct type, member)))

/* The descriptor of a new loop; -1 with errno. */
int loop_open(void);
/* Waits for EVENTS of it from now on; 0: for nothing. */
void loop_watch(struct source *source, uint32_t events);
/* No longer watched, closed. */
void loop_drop(struct source *source);
/* Waits at most MS (-1: any time) and calls what is ready, one: a function may drop any source. */
void loop_wait(int loop_fd, int ms);

#endif
