/* SPDX-License-Identifier: Apache-2.0 */
/* What ran, as operations ask for it. Only in the program with libraries. */
#ifndef APP_HISTORY_H
#define APP_HISTORY_H

#include "history/history.h"
#include "history/search.h"
#include "observe/kept_log.h"

/* Where the caller's state is; the caller owns it. NULL with ERR. */
char *app_state_dir(struct error *err);

/* The caller's history, folded up to now. */
int app_history(struct history **ret_history, struct error *err);

/* The kept output of a run, read piece by piece. */
struct app_log {
	int fd; /* -1: nothing was written (yet) */
	char *state_dir;
	char run_id[27];
	struct str pending; /* read, but no whole frame yet */
};

/* RUN: an id or the beginning of one; *ret_show is the run as history_show gives it. */
int app_log_open(const char *run, const char *owner, struct app_log *ret_log,
		 struct value **ret_show, struct error *err);
void app_log_close(struct app_log *log);

/* Reads on and calls FRAME for every whole frame. */
int app_log_read(struct app_log *log, void (*frame)(const struct kept_frame *frame, void *cookie),
		 void *cookie, struct error *err);

/* Whether the run has ended by now. */
int app_log_has_ended(struct app_log *log, bool *ret_has_ended, struct error *err);

/* The last run of a sandbox, for the records of what was made from it; the caller owns it. NULL when it is not known. */
char *app_last_run(const char *sandbox);

#endif
