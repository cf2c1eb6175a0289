/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of jobs share: a job opened, its record, its inputs, whether it is due. Private to app. */
#ifndef APP_JOB_PARTS_H
#define APP_JOB_PARTS_H

#include "app/job/job.h"
#include "app/trial/task.h"
#include "base/hash/sha256.h"
#include "decide/job/job.h"

#define JOB_FILE "job.yaml"
#define JOB_RACE "race.yaml"
#define JOB_TASK "task.json"
#define JOB_PLACE "place"
#define JOB_PAUSED "paused"
#define JOB_DAY_MS (UINT64_C(24) * 3600 * 1000)

/* The two directories of all jobs. */
struct job_dirs {
	int config_fd, state_fd;
	char *config_dir; /* the user's configuration, resolved */
};

int job_dirs_open(struct job_dirs *dirs, const char *const *env, struct error *err);
void job_dirs_close(struct job_dirs *dirs);
/* Names of all jobs, sorted. */
int job_dirs_list(const struct job_dirs *dirs, struct strv *ret_names, struct error *err);

struct job_place {
	const struct job_dirs *dirs;
	const char *const *env;
	int dir_fd;
	char *name, *owner, *workspace;
	struct str text; /* of its file */
	struct str more; /* of its race or task */
	struct job job;	 /* WORK is that of a task's file, too */
	bool is_paused;
	struct value *state;
};

/* Opens the job NAME; LOCKS: for the caller alone, ERROR_CONFLICT while a run has it. To be closed in any case. */
int job_open(struct job_place *place, const struct job_dirs *dirs, const char *name, bool locks,
	     const char *const *env, struct error *err);
void job_close(struct job_place *place);

/* Whether a run has the job now, seen from a place that has no lock. */
bool job_is_running(const struct job_place *place);

/* Writes the record down, for good. Under the lock. */
int job_save(const struct job_place *place, struct error *err);

/* The job's work, as app_task takes it; borrows from PLACE. */
struct app_task job_as_task(const struct job_place *place);

/* What a run is for. */
struct job_turn {
	struct value *slots; /* those it takes, by their keys; NULL: none */
	struct str why;
};

void job_turn_done(struct job_turn *turn);

/* Directories to watch, as far as there is room. */
struct job_watches {
	int fd; /* inotify's; -1: none */
	unsigned count;
	bool is_cut; /* not all of them */
};

void job_watch_directory(struct job_watches *watches, const char *path);

/*
 * Whether the job is due at NOW_MS: then ret_turn says for what. Kinds that no clock tells are looked at only with WATCHES,
 * which then has what to wait for. A kind that was never looked at is not due: where it stands now goes into the record
 * (*ret_is_new), which the caller saves.
 */
int job_due(struct job_place *place, uint64_t now_ms, struct job_watches *watches,
	    struct job_turn *ret_turn, bool *ret_is_new, struct error *err);

/* The next moment that a clock makes it due; 0: none does. */
uint64_t job_next_ms(const struct job_place *place, uint64_t now_ms);

/* "every 15m, on_commit main"; and what it waits for though it is due: NULL when for nothing. */
void job_describe_when(const struct job *job, struct str *out);
const char *job_waits(const struct job_place *place, uint64_t now_ms);

/* A line for each file below the workspace that PATTERNS name, sorted: its stat, or the digest of its content. */
struct job_look {
	const struct strv *patterns;
	bool is_content;
	struct job_watches *watches; /* NULL: none */
};

int job_look(const struct job_place *place, const struct job_look *look, struct strv *ret_lines,
	     struct error *err);
/* The job's inputs, by content: what its patterns name, or what git tracks, or all files. */
int job_inputs(const struct job_place *place, struct strv *ret_lines, struct error *err);
/* The digest of LINES without those of PATHS (a list of text, or of {path}; NULL: none) and of the job itself. */
void job_lines_digest(const struct job_place *place, const struct strv *lines,
		      const struct value *paths, char ret_hex[static SHA256_HEX_SIZE]);

/* Removes what a killed run left, and puts it into the record. Under the lock. */
int job_recover(struct job_place *place, struct error *err);

/* A run that begins is not the one that an earlier stop was about; and whether PID is to end. */
void job_unmark_stopped(const struct job_place *place);
bool job_is_stopped(const struct job_place *place, int64_t pid);

/*
 * Before the run writes to the workspace, on record: from here on a stop waits for it. Whether one came before, and nothing
 * is to be written; it also holds when the record cannot be made.
 */
bool job_may_not_promote(struct job_place *place);

/* Runs it and writes down what came of it, under the lock. */
int job_perform(struct job_place *place, const struct job_turn *turn, bool is_forced,
		struct value **ret_row, struct error *err);

#endif
