/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping the history in bounds: what goes is looked for first, so that it can be kept elsewhere before it is removed.
 *
 *   history_going ──> ids of runs, names of logs ──> archived, where the user wants that ──> history_forget, log_files_remove
 */
#ifndef HISTORY_TRIM_H
#define HISTORY_TRIM_H

#include "history/history.h"
#include "history/log_files.h"

/* Other ages for runs in and below a directory; the longest path counts. 0: those of the bounds. */
struct history_rule {
	char *path;
	int64_t runs_ms, logs_ms;
};

struct history_bounds {
	uint64_t age_ms;    /* older runs go; 0: none do */
	uint64_t rows;	    /* more than that many go, oldest first; 0: none do */
	uint64_t log_bytes; /* kept output beyond that goes, oldest first; 0: none does */
	uint64_t log_count;
	uint64_t log_age_ms; /* older output goes; 0: none does */
	const struct history_rule *rules;
	size_t rule_count;
	const struct strv *pins;      /* ids of runs that stay, sorted; NULL: none */
	const struct strv *sandboxes; /* runs of these stay, sorted; NULL: none */
	uint64_t promoted_ms;	      /* runs of sandboxes promoted since then stay; 0: none do */
};

struct history_going {
	struct strv runs, logs; /* oldest first */
	uint64_t log_bytes;
};

/* What is out of bounds. What is under way never is. */
int history_going(struct history *history, const struct history_bounds *bounds,
		  struct history_going *ret_going, struct error *err);
/* Cleanup for owned(history_going_done) struct history_going g. */
void history_going_done(struct history_going *going);

/* Removes COUNT runs with all that is recorded of them; all or none. */
int history_forget(struct history *history, char *const *ids, size_t count, struct error *err);

/* A run with its result, what it was refused and its samples, as one JSON object; false where it is gone by now. ERROR_INPUT: unpack would refuse it. */
int history_run_pack(struct history *history, const char *run_id, struct str *ret_text,
		     bool *ret_is_there, struct error *err);
/* Adds such a run, 1; one that is there already stays as it is, 0. TEXT may come from anywhere: ERROR_INPUT unless it is RUN_ID's. */
int history_run_unpack(struct history *history, const char *run_id, const char *text, size_t len,
		       struct error *err);
/* Both halves of a change of several runs. */
int history_begin(struct history *history, struct error *err);
int history_end(struct history *history, bool is_kept, struct error *err);

/* Removes the oldest kept output of OWNER's runs beyond BOUNDS. */
int history_trim_owner(struct history *history, const char *owner, const struct log_bounds *bounds,
		       struct log_removed *removed, struct error *err);

#endif
