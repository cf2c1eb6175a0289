/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: many small runs, one JSON line in and one out for each, several at once.
 *
 * Each line is a run of its own, done by a worker forked from the one that reads (batch_worker.h): no program is loaded anew.
 * Answers come in the order of the lines, each as soon as all before it are out. Only in the program with libraries.
 */
#ifndef APP_BATCH_H
#define APP_BATCH_H

#include "app/run/run_request.h"

#define BATCH_JOBS_MAX 256

enum batch_end {
	BATCH_ALL_RAN,
	BATCH_SOME_RAN,
	BATCH_LATE, /* its time was over first: what ran was ended, what had not begun was not run */
};

struct app_batch {
	int fd;			    /* lines are read from it as they come */
	unsigned jobs;		    /* at once; 0: as many as there are cores */
	const struct request *base; /* the flags of the command line */
	int64_t time_ms;	    /* for all of it; 0: as long as it takes */
	bool list_changes, uses_daemon;
	int out_fd; /* where answers go: when there is no reader any more, the batch ends; -1: not known */
	/* Takes one answer, a JSON object and a newline. -1 ends the batch. */
	int (*answer)(const struct str *line, void *cookie, struct error *err);
	void *cookie;
};

/*
 * *ret_end: whether every line was run, whatever came of its command. A line that cannot be run is answered by {"ok":false,
 * "line","error":{code, message}} or, refused by the plan, by a result that says so; the batch goes on.
 * One whose first line is refused by the daemon, because too many calls wait, is refused as a whole: ERROR_BUSY.
 */
int app_batch(const struct app_batch *batch, enum batch_end *ret_end, struct error *err);

#endif
