/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: work done unattended, in a sandbox, verified by its gates and promoted only as its policy says.
 *
 *   CONFIG/jobs/NAME/   job.yaml      the file that was added, as it was
 *                       race.yaml, task.json   what it names, as that was
 *                       place         the workspace it is for
 *                       paused        while it is
 *   STATE/jobs/NAME.json              which slots were taken, what was worked on, the last runs
 *
 * A run holds a lock on the directory and writes down the slots it takes before it starts anything: of two schedulers one gets
 * it, and after a kill at any moment the slot is not worked on again. What a killed run left, the next look at the job removes.
 */
#ifndef APP_JOB_H
#define APP_JOB_H

#include "base/core/error.h"
#include "base/core/value.h"

#include <stdbool.h>

/*
 * Copies FILE, and the race or task it names, into the user's configuration: the answer of app_job_show. ERROR_CONSENT for
 * one that is neither there already nor trusted as it is.
 */
int app_job_add(const char *file, const char *const *env, struct value **ret_answer,
		struct error *err);

/* Trusts FILE as it is now, if it is a job, a race or a task (*ret_is_job): {path, sha256}. */
int app_job_trust(const char *file, const char *const *env, bool *ret_is_job,
		  struct value **ret_answer, struct error *err);

/* {name, when, state, last, result, next, workspace}, by name; one that cannot be read has its error as state. */
int app_job_list(const char *const *env, struct value **ret_list, struct error *err);

/* The same with {pid (of the run, while there is one), promote, text, runs: [{started, ended, why, result, run_id, sandbox, ...}]}. */
int app_job_show(const char *name, const char *const *env, struct value **ret_answer,
		 struct error *err);

int app_job_remove(const char *name, const char *const *env, struct error *err);
int app_job_pause(const char *name, bool is_paused, const char *const *env, struct error *err);

/*
 * Runs it here and now, whatever the time: the row of the run. Unchanged inputs are not worked on again unless IS_FORCED.
 * *ret_pass: it passed, or there was nothing to do.
 */
int app_job_run(const char *name, bool is_forced, const char *const *env, struct value **ret_answer,
		bool *ret_pass, struct error *err);

/* Ends the run under way, and waits for that: its row, which says stopped unless it was done before. ERROR_CONFLICT: none is. */
int app_job_stop(const char *name, const char *const *env, struct value **ret_row,
		 struct error *err);

/* Takes a line for each run that ended, and for each fault. */
struct job_reporter {
	void (*report)(void *cookie, const char *line);
	void *cookie;
};

/* Runs what is due, each in a process of its own, until it is ended. */
int app_job_watch(const char *const *env, const struct job_reporter *reporter, struct error *err);

#endif
