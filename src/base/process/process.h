/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: whether a number still means the same process, what it used, and how to detach from the one that started us. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The message for a failed fork; errno has the reason. */
#define PROCESS_REFUSED "start: no further process (ulimit -u or a control group bounds them)"

/*
 * Whether process PID can be the one that was there at THEN_MS (since the epoch): it lives and did not begin later, give
 * or take SLACK_MS for a clock that was set meanwhile. Numbers are given again and again on a busy machine.
 */
bool process_is_of(int64_t pid, uint64_t then_ms, uint64_t slack_ms);

/* Ticks since boot at which process PID began; 0 when there is none, or none that may be looked at. */
uint64_t process_began(int64_t pid);

/*
 * Ends the process that had number PID when it began at TICKS, and no other. With IF_HALTED only when it is stopped and
 * can do nothing any more. Whether it was ended; a zombie counts as ended before.
 */
bool process_kill(int64_t pid, uint64_t ticks, bool if_halted);

/* Waits at most MS until the process that began so has ended; whether it has. */
bool process_wait_end(int64_t pid, uint64_t ticks, int ms);

/* Whether CHILD, which the caller made, can go on: neither ended nor halted. Asked of the kernel, and not taken note of. */
bool process_can_go_on(pid_t child);

/*
 * What a process has used, in figures of ours: struct rusage is not of one size with all C libraries, and programs with
 * different ones exchange it.
 */
struct process_used {
	uint64_t cpu_us, peak_memory_bytes;
};

struct rusage;
struct process_used process_used_of(const struct rusage *usage);

/* The signals that a process which runs a command takes for itself and for the whole command. */
void process_handled_signals(sigset_t *ret_set);

/*
 * The signals that ask a process to end can be read from a descriptor, and do nothing else any more; it does not block. -1
 * with errno. *ret_before (NULL: not asked for) is the mask before.
 */
int process_watch_end(sigset_t *ret_before);

/* Every signal does what it does by default: what the caller ignores, or the C library keeps to itself, too. */
void process_heed_signals(void);

/*
 * For a child that outlives its parent: signals as by default and none blocked, a session of its own, /dev/null for
 * standard streams, no other descriptors but those to KEEP (as fd_close_others), NAME. 0, or -1 with errno.
 */
int process_detach(const int *keep, size_t count, const char *name);

#endif
