/* SPDX-License-Identifier: Apache-2.0 */
/* Per-process limits and scheduling: the smaller of ours and the caller's hard limit. */
#ifndef CONFINE_RLIMIT_H
#define CONFINE_RLIMIT_H

#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one process, as the kernel numbers them: what every C library agrees on. */
#define RLIMIT_COUNT 16
struct rlimit_all {
	uint64_t soft[RLIMIT_COUNT], hard[RLIMIT_COUNT];
};

/* Those of process PID, 0 for the calling one. 0, or -1 with errno. */
int rlimit_read(pid_t pid, struct rlimit_all *ret_all);

/* Whether a process with OWN can have OTHER without a privilege; core files are another matter. */
bool rlimit_may_take(const struct rlimit_all *own, const struct rlimit_all *other);

/* The calling process gets them, but that for core files. 0, or -1 with errno. No heap. */
int rlimit_take(const struct rlimit_all *all);

/*
 * As many descriptors as the hard limit allows. Those on their way through sockets are counted per user and compared with
 * the sender's soft limit: a neighbour with many on their way would keep us from starting. A command gets its own limit.
 */
void rlimit_raise_descriptors(void);

/* No core file, nor a program of the host's that takes one: our filter keeps a process from setting that later. */
int rlimit_no_core(void);

/*
 * Sets all limits of the calling process. Where the kernel counts processes per user namespace (5.14), they are
 * bounded too when there is NO_GROUP; then a file may also not be larger than all memory. 0, or -1 with errno. No heap.
 */
int rlimit_apply(const struct spec_limits *limits, bool no_group);

/*
 * All cores, but at the lowest weight, when no share was asked for. Done last: the start itself should not run at that
 * weight. 0, or -1 with errno. No heap.
 */
int rlimit_step_back(const struct spec_limits *limits);

#endif
