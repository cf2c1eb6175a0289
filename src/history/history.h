/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history: the spool's records, folded into tables for queries.
 *
 * Every reader folds first. A record is folded exactly once: how far a spool file was read stands in the same database,
 * changed by the same transaction that adds the rows; a crash in the middle undoes both.
 */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

#include <stdbool.h>
#include <stdint.h>

struct history;

/* Opens STATE_DIR/history.db, making it, and folds the spool. */
int history_open(const char *state_dir, struct history **ret_history, struct error *err);
/* Folds what has come since. */
int history_refresh(struct history *history, struct error *err);
void history_close(struct history *history);
/* Cleanup for owned(history_release) struct history *h. */
void history_release(struct history **slot);

struct history_filter {
	const char *status, *sandbox, *trace_id, *owner; /* exact; NULL: any */
	const char *text;				 /* somewhere in the command; NULL: any */
	const char *before; /* runs older than that with this id; NULL: from the newest on */
	uint64_t since_ms;  /* 0: from the beginning */
	uint64_t limit;	    /* 0: all */
};

/* Runs, newest first: a list of {run_id, trace_id, sandbox, command, status, exit_code, started, duration_ms, ...}. */
int history_list(struct history *history, const struct history_filter *filter,
		 struct value **ret_list, struct error *err);

/*
 * One run by its id, or the beginning of it when that is one run's alone, among those of OWNER (NULL: of all).
 * ERROR_NOT_FOUND, or ERROR_USAGE when several match.
 */
int history_find(struct history *history, const char *id, const char *owner, char ret_id[static 27],
		 struct error *err);

/* Whether the run is OWNER's; ERROR_NOT_FOUND when not. */
int history_owned(struct history *history, const char *run_id, const char *owner,
		  struct error *err);

/* The recorded result object of a run (without streams); a run that is under way has status "running". */
int history_show(struct history *history, const char *run_id, struct value **ret_result,
		 struct error *err);

/* The figures an owner watches, over runs since SINCE_MS. */
int history_stats(struct history *history, uint64_t since_ms, struct value **ret_stats,
		  struct error *err);

/*
 * A place among the events: a record, and how many of the events that it stands for are past. An END is what was refused,
 * the limits met, and last the end itself, whose id is the record's alone: 17.1, 17.2, 17.
 */
struct history_place {
	int64_t record, part;
};

#define HISTORY_PARTS_ALL INT64_MAX

/* An id as an event has it; false when TEXT is none. */
bool history_place_read(const char *text, struct history_place *ret_place);
/* Behind everything that is on record now. */
int history_place_last(struct history *history, struct history_place *ret_place, struct error *err);

/*
 * What happened behind *PLACE, oldest first, which is moved: the events of some records, as a list of {id, time, event,
 * run_id, trace_id, sandbox, ...}. *ret_more: there may be others behind these.
 */
int history_events(struct history *history, struct history_place *place, struct value **ret_list,
		   bool *ret_more, struct error *err);

/* Where COLLECTOR goes on, behind what it was sent last. One that is new begins at *PLACE, which is kept for it. */
int history_sent_from(struct history *history, const char *collector, struct history_place *place,
		      struct error *err);
/* It was sent everything up to PLACE, the end of a record. */
int history_sent_to(struct history *history, const char *collector,
		    const struct history_place *place, struct error *err);

/* Runs that were given the stored secret NAME, newest first, LIMIT of them (0: all): [{time, run_id, sandbox, as}]. */
int history_secret_uses(struct history *history, const char *name, int64_t limit,
			struct value **ret_list, struct error *err);

/* The last races, newest first, LIMIT of them: the answer of each as it was recorded, and `time`, when it ended. */
int history_races(struct history *history, int64_t limit, struct value **ret_list,
		  struct error *err);

/* How many runs are under way. */
int history_running(struct history *history, int64_t *ret_count, struct error *err);

/* The last run of a sandbox, for gates: false when there is none. */
struct history_last {
	char run_id[27];
	int64_t exit_code, duration_ms, peak_memory;
};

int history_last_run(struct history *history, const char *sandbox, struct history_last *ret_last,
		     bool *ret_is_there, struct error *err);
/* Connections refused in runs of a sandbox since a time. */
int history_net_denials(struct history *history, const char *sandbox, uint64_t since_ms,
			uint64_t *ret_count, struct error *err);

#endif
