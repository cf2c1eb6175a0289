/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes: forked with a channel or started as a program, waited for with or without a limit, ended. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What connects a child with its parent; both ends are close-on-exec. */
enum child_link {
	CHILD_ALONE,
	CHILD_WRITES,  /* a pipe to the parent */
	CHILD_READS,   /* a pipe from the parent */
	CHILD_TALKS,   /* sockets that keep messages apart */
	CHILD_STREAMS, /* sockets that do not */
};

/*
 * fork(2) and what belongs around it. Returns 0 in the child and its pid in the parent, where *RET_FD is this side's end of
 * LINK (not written with CHILD_ALONE); the other end is closed. END_SIGNAL, unless 0, reaches the child when its parent ends,
 * even before this returns. -1 with an error, and nothing left open.
 */
pid_t child_fork(enum child_link link, int end_signal, int *ret_fd, struct error *err);

/* Likewise for a process without a parent of ours, to be waited for by init alone. Returns 0 there, 1 here, -1 with an error. */
int child_fork_away(enum child_link link, int *ret_fd, struct error *err);

struct child_exec {
	char *const *words; /* words[0] is looked for in PATH unless it has a slash */
	char *const *environ;
	const char *directory; /* NULL: the caller's */
	int streams[3];	       /* become 0, 1 and 2, in this order */
};

/* Starts a program. The signal that the program's main ignores, SIGXFSZ, is as by default there. Its pid, or -1 with an error. */
pid_t child_exec(const struct child_exec *exec, struct error *err);

/* Waits for a child, through interruptions. Its status as from waitpid(2), or -1: neither WIFEXITED nor WIFSIGNALED. */
int child_wait(pid_t pid);

/* Kills a child and waits for it. */
void child_end(pid_t pid);

/*
 * As child_wait(), but a child that takes longer than LIMIT_MS is killed. What is left of a process group that it leads is killed
 * in any case. Whether it ended in time.
 */
bool child_wait_within(pid_t pid, uint64_t limit_ms, int *ret_status);

/* As a shell would say it: the exit code, or 128 and the number of the signal. */
int child_exit_code(int status);

/* pidfd_open(2) and pidfd_send_signal(2), which older C libraries lack. */
int child_open(pid_t pid);
int child_signal(int pid_fd, int signal);

#endif
