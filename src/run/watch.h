/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines and bounds the supervisor itself keeps: wall time, CPU time, and all of them where there is no cgroup. */
#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include "driver/driver.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>

/* Bounds that a run has come near to: four fifths of them. */
enum watch_near {
	NEAR_TIME = 1 << 0,
	NEAR_CPU_TIME = 1 << 1,
	NEAR_MEMORY = 1 << 2,
	NEAR_PIDS = 1 << 3,
	NEAR_DISK = 1 << 4,
};

enum watch_verdict { WATCH_GO_ON, WATCH_TIME, WATCH_CPU_TIME, WATCH_MEMORY, WATCH_DISK };

struct watch {
	const struct spec_limits *limits;
	bool has_group;	      /* the kernel keeps memory and processes in bounds */
	bool has_disk;	      /* the writable layer has no size of its own */
	uint64_t deadline_ns; /* 0: none */
	uint64_t next_sample_ns;
	uint64_t started_ns;
	struct task_usage usage; /* of the last sample */
	uint64_t sampled;	 /* how many there were */
	unsigned near;		 /* enum watch_near: what was come near to so far */
	bool pids_full;		 /* seen at the limit, without a cgroup */
};

void watch_init(struct watch *watch, const struct spec *spec);

/* A sandbox that was made before has nothing to do but the command: its start is bounded by the same time. */
void watch_entered(struct watch *watch);

/* The wall clock starts when the command does. */
void watch_started(struct watch *watch);

/* It has been: the command has been asked to end, and the other bounds are kept meanwhile. */
void watch_time_is_over(struct watch *watch);

/* Milliseconds until the next thing to look at; -1 for never. */
int watch_timeout_ms(const struct watch *watch);

/* Looks at what is due. */
enum watch_verdict watch_look(struct watch *watch, struct task *task);

#endif
