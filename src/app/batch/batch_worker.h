/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of a batch: a process, forked from the one that reads, that does one line at a time.
 *
 * A line that needs a sandbox of its own is its worker's last: a process that has started one is not fit to start
 * another. Where zygotes do the work (driver/zygote pool.h) nothing of a line stays in its worker, which takes the next one:
 * each such line still has a process, a view, limits and a record of its own.
 *
 * Line and answer lie in a file of the two that has no name, so that neither side ever waits for the other to read.
 */
#ifndef APP_BATCH_WORKER_H
#define APP_BATCH_WORKER_H

#include "base/core/str.h"
#include "plan/request.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What all workers of a batch do alike; borrowed until the last has ended. */
struct batch_work {
	const struct request *base; /* the flags of the command line */
	bool list_changes, uses_daemon;
	int zygote_pool_fd;
	sigset_t mask; /* of the runs */
	pid_t owner;   /* they end with it */
};

struct batch_worker {
	pid_t pid;   /* 0: there is none */
	int end_fd;  /* readable at its end */
	int fd;	     /* readable when it has an answer and takes another line */
	int post_fd; /* the line, then its answer */
};

#define BATCH_WORKER_INIT     \
	{                     \
		0, -1, -1, -1 \
	}

int batch_worker_start(const struct batch_work *work, struct batch_worker *ret_worker,
		       struct error *err);

/* From the batch: a line lies there. */
struct line_note {
	uint64_t number;
	bool is_first; /* of those that run: refused where too many calls wait; the others wait */
};

/* Gives it a line. -1: it takes none any more. */
int batch_worker_give(const struct batch_worker *worker, const struct line_note *note,
		      const char *bytes, size_t len);

/*
 * Once one of its descriptors is readable: the answer to its line. Where that was its end the worker is gone, pid 0, and
 * the answer may be missing (-1), or be the reason why the daemon refused it (1).
 */
int batch_worker_handle(struct batch_worker *worker, struct str *ret_answer, bool *ret_has_run);

/* Waits for one that was asked to end. */
void batch_worker_end(struct batch_worker *worker);

/* Kills one without a line, whose work nothing depends on; it may be stopped and unable to react. */
void batch_worker_dismiss(struct batch_worker *worker);

/* What stands for an answer where a line could not be run. */
void batch_write_error(uint64_t number, const struct error *err, struct str *ret_answer);

#endif
