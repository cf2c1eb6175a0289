/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a run while it lived: a bounded row of samples, thinned out as it grows. */
#ifndef OBSERVE_SAMPLES_H
#define OBSERVE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#define SAMPLES_KEPT 64

struct usage_sample {
	uint64_t at_ms; /* since the command began */
	uint64_t cpu_us, memory_bytes, pids, disk_bytes;
};

struct samples {
	struct usage_sample items[SAMPLES_KEPT];
	size_t count;
	uint64_t stride; /* every so manyth is kept; 0 is 1 */
	uint64_t seen;
};

/* Keeps it, or not: when the row is full every second one goes, and from then on half as many come. */
void samples_add(struct samples *samples, const struct usage_sample *sample);

#endif
