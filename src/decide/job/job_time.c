/* SPDX-License-Identifier: Apache-2.0 */
/* When jobs are due: periods, and times of the local day through changes of the clock. */
#include "decide/job/job.h"

#include <time.h>

#define DAY_MINUTES (24 * 60)
#define DAY_S INT64_C(86400)
/* A local time lies so far from the same figures of UTC; a zone may leave out a whole day. */
#define AHEAD_S (15 * INT64_C(3600))
#define BEHIND_S (40 * INT64_C(3600))
#define COARSE_S 900
#define FINE_S 60

/* The figures of the local clock as seconds, as if they were UTC. */
static int64_t local_figures(int64_t epoch_s)
{
	time_t time = (time_t)epoch_s;
	struct tm local;

	if (!localtime_r(&time, &local))
		return epoch_s;
	return (int64_t)timegm(&local);
}

/*
 * The first moment at which the local clock shows FIGURES or later: of two the first, and the end of the gap where the clock
 * passes over them. mktime() leaves open which of these it gives.
 */
static int64_t first_moment(int64_t figures)
{
	int64_t at = figures - AHEAD_S, last = figures + BEHIND_S, from;

	while (at < last && local_figures(at) < figures)
		at += COARSE_S;
	for (from = at - COARSE_S + FINE_S; from < at; from += FINE_S) {
		if (local_figures(from) >= figures)
			return from;
	}
	return at;
}

int64_t job_local_day(uint64_t now_ms)
{
	tzset();
	return local_figures((int64_t)(now_ms / 1000)) / DAY_S;
}

uint64_t job_slot_begins(const struct job *job, enum job_clock clock, uint64_t added_ms,
			 int64_t slot)
{
	int64_t passed_ms;

	/* A record may say anything. */
	if (clock == JOB_EVERY)
		return __builtin_mul_overflow(slot, job->every_ms, &passed_ms)
			       ? UINT64_MAX
			       : added_ms + (uint64_t)passed_ms;
	tzset();
	return (uint64_t)first_moment(slot * DAY_S + job->at_minute * 60) * 1000;
}

int64_t job_slot(const struct job *job, enum job_clock clock, uint64_t added_ms, uint64_t now_ms)
{
	int64_t day;

	if (clock == JOB_EVERY)
		return now_ms < added_ms ? 0 : (int64_t)(now_ms - added_ms) / job->every_ms;
	day = job_local_day(now_ms);
	return job_slot_begins(job, clock, added_ms, day) <= now_ms ? day : day - 1;
}

bool job_is_quiet(const struct job *job, uint64_t now_ms)
{
	int64_t minute;

	if (job->quiet_from < 0)
		return false;
	tzset();
	minute = local_figures((int64_t)(now_ms / 1000)) % DAY_S / 60 % DAY_MINUTES;
	if (job->quiet_from <= job->quiet_to)
		return minute >= job->quiet_from && minute < job->quiet_to;
	return minute >= job->quiet_from || minute < job->quiet_to;
}
