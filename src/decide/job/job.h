/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: work that is done unattended, in a sandbox. Their files, and the arithmetic of their times.
 *
 * Each time that a job is due has a slot, a number that grows: what was done for a slot is not done again, whatever becomes of
 * the process or the clock. Slots of `every` are periods since the job was added; those of `at` are days of the local calendar,
 * so that an hour that occurs twice is one slot.
 */
#ifndef DECIDE_JOB_H
#define DECIDE_JOB_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

#include <stdbool.h>
#include <stdint.h>

#define JOB_NAME_MAX 40
#define JOB_PATTERNS_MAX 64

enum job_promote { JOB_PROMOTE_NEVER, JOB_PROMOTE_ASK, JOB_PROMOTE_GATES };

struct job {
	char *name; /* NULL: the file's */
	/* When: any of these, or none. */
	int64_t every_ms; /* 0: no */
	int at_minute;	  /* of the local day; -1: no */
	struct strv on_change;
	char *on_commit; /* a branch */
	bool on_run_failed;
	/* What: one of these files, or what WORK says. */
	char *race, *task;
	struct value
		*work; /* the other keys, which are those of a task: command, gates, limits, ... */
	struct strv inputs;
	enum job_promote promote;
	unsigned runs_per_hour, cpu_minutes_per_day; /* 0: no limit */
	int quiet_from, quiet_to;		     /* minutes of the local day; -1: none */
	bool keeps_failed, pauses_failed, retries_failed;
};

void job_init(struct job *job);
void job_done(struct job *job);

/* [a-z0-9][a-z0-9._-]*, JOB_NAME_MAX at most. */
bool job_is_name(const char *name);

/* Reads a job's file. Errors begin with ORIGIN:LINE. WORK is not looked into. Only in the program with libraries. */
int job_read(const char *bytes, size_t len, const char *origin, struct job *job, struct error *err);

/* Whether PATH, relative to the workspace, is what PATTERN means; where a pattern has **, each star reaches over slashes. */
bool job_pattern_matches(const char *pattern, const char *path);

/* The directory that all matches of PATTERN lie below: "." or a relative path; owned by the caller. */
char *job_pattern_root(const char *pattern);

enum job_clock { JOB_EVERY, JOB_AT };

/* The last slot that has begun by NOW_MS, of a job that was added at ADDED_MS; and when SLOT begins. By the local time zone. */
int64_t job_slot(const struct job *job, enum job_clock clock, uint64_t added_ms, uint64_t now_ms);
uint64_t job_slot_begins(const struct job *job, enum job_clock clock, uint64_t added_ms,
			 int64_t slot);

/* Whether NOW_MS lies in the job's quiet hours. */
bool job_is_quiet(const struct job *job, uint64_t now_ms);

/* The day of the local calendar, counted from 1970. */
int64_t job_local_day(uint64_t now_ms);

#endif
