/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that the daemon keeps: started with it, started anew when they end, ended with it. */
#ifndef APP_DAEMON_CHILDREN_H
#define APP_DAEMON_CHILDREN_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPERS_MAX 8
#define HELPER_WORDS_MAX 16
#define HELPER_FDS_MAX 4

/*
 * One row. The program lies beside the daemon's own; it has the daemon's environment, directory and output, nothing to read, and
 * no descriptors but its own: fds[0] is its descriptor 3, fds[1] is 4, and so on. They stay open in the daemon, so that what
 * connects while a helper is started anew waits and is not refused. SIGTERM asks it to end; killed
 * it is when it takes longer than HELPER_END_MS, or when the daemon is.
 */
struct helper {
	const char *name; /* what `daemon status` calls it */
	const char
		*words[HELPER_WORDS_MAX + 1]; /* the program's name and arguments, ended by NULL */
	int fds[HELPER_FDS_MAX];
	size_t fd_count;
	/* The table's own. */
	pid_t pid; /* 0: not running */
	int errors
		[2]; /* a pipe: what it writes to stderr, where our log is not lines of text; else 0 */
	struct str line; /* of that, not complete yet */
	unsigned starts, failed;
	uint64_t began_ns, due_ns;
};

#define HELPER_END_MS 5000

struct helpers {
	struct helper rows[HELPERS_MAX];
	size_t count;
};

/* Refuses FLAG where PROGRAM does not lie beside ours: it would be started in vain again and again. */
int helper_check(const char *flag, const char *program, struct error *err);

/* Adds a row, which borrows its words and takes its descriptors over. There is a row for everything that is asked for. */
void helpers_add(struct helpers *helpers, const struct helper *row);

/* Starts what is not running and due. Milliseconds until the next is due; -1: none is. */
int helpers_tend(struct helpers *helpers);

/* A child of the daemon has ended, maybe one of these; IS_ENDING: and so does the daemon. */
void helpers_ended(struct helpers *helpers, pid_t pid, bool is_ending);

/* What it wrote to stderr can be read here; -1: it goes to our own. */
int helper_errors_fd(const struct helper *row);
/* Puts what there is of that into the log. */
void helper_log_errors(struct helper *row);

/* Ends all of them, waits for that, and closes their descriptors. */
void helpers_done(struct helpers *helpers);

#endif
