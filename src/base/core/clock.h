/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks: one that only goes forward, for deadlines and durations; the wall's, for records; the processor's, for work. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return clock_ns_of(&now);
}

/* Nanoseconds that this thread has run. */
static inline uint64_t clock_busy_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return clock_ns_of(&spent);
}

/* Milliseconds since the epoch. */
static inline uint64_t clock_epoch_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * Nanoseconds by which the wall's clock is ahead of the time since boot: it grows or shrinks only when the clock is set.
 * Of several readings the one that took least counts, since a process that is interrupted between the two clocks reads a
 * difference that is not there.
 */
int64_t clock_offset_ns(void);

/*
 * A time such that what changed before has an earlier stamp, and what changes from now on has not. Kernels from 6.13 on
 * give a file whose stamp was looked at a fine one, and no file an earlier one from then on. On others this is the coarse
 * clock's last tick: what changed since that tick counts as changed later, which errs on the safe side.
 */
uint64_t clock_stamp_ns(void);

/* Formats milliseconds since the epoch as 2026-11-15T00:00:00.000Z. */
void time_format_utc(uint64_t epoch_ms, char out[static 32]);

/* The reverse; the letter, for which a distance as +02:00 may stand, the milliseconds and the time of day may be missing. False when TEXT is no such moment. */
bool time_parse_utc(const char *text, uint64_t *ret_ms);

#endif
