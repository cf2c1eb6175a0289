/* SPDX-License-Identifier: Apache-2.0 */
/* What ran, as operations ask for it. Only in the program with libraries. */
#ifndef ENGINE_HISTORY_H
#define ENGINE_HISTORY_H

#include "history/history.h"
#include "history/search.h"
#include "observe/kept_log.h"

/* The caller's history, folded up to now. */
int engine_history(struct history **ret_history, struct error *err);

/* The kept output of a run, read piece by piece. */
struct engine_log {
	int fd; /* -1: nothing was written (yet) */
	char *state_dir;
	char run_id[27];
	struct str pending; /* read, but no whole frame yet */
};

/* RUN: an id or the beginning of one; *ret_show is the run as history_show gives it. */
int engine_log_open(const char *run, const char *owner, struct engine_log *ret_log,
		    struct value **ret_show, struct error *err);
void engine_log_close(struct engine_log *log);

/* Reads on and calls FRAME for every whole frame. */
int engine_log_read(struct engine_log *log,
		    void (*frame)(const struct kept_frame *frame, void *cookie), void *cookie,
		    struct error *err);

/* Whether the run has ended by now. */
int engine_log_has_ended(struct engine_log *log, bool *ret_has_ended, struct error *err);

/* The last run of a sandbox, for the records of what was made from it; the caller owns it. NULL when it is not known. */
char *engine_last_run(const char *sandbox);

#endif
