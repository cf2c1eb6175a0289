/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a command is ended: asked by a signal first, killed when its grace is over or when the caller insists.
 *
 * A second signal means "at once". timeout(1) sends its signal twice, to the child and to the group that it leads, and
 * SIGCONT behind both: that pair is one request, and only the SIGCONT tells it from a second one.
 */
#ifndef RUN_ENDING_H
#define RUN_ENDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct ending {
	int signal;	     /* the first that was received; 0: none */
	bool was_asked;	     /* the command was sent a signal, and has time */
	bool was_killed;     /* ended by us: its grace was over, or there was none */
	uint64_t kill_ns;    /* when its grace is over; 0: it was not asked to end */
	uint64_t insists_ns; /* when a second signal is taken for what it is; 0: there is none */
};

/* The command has been asked at NOW_NS, and has GRACE_MS to end. */
void ending_begin(struct ending *ending, uint64_t now_ns, uint64_t grace_ms);

/* Another signal while the command is asked already. */
void ending_again(struct ending *ending, const struct signalfd_siginfo *info, uint64_t now_ns);

/* SIGCONT. */
void ending_continued(struct ending *ending);

/* When to look again; 0: no need. */
uint64_t ending_next_ns(const struct ending *ending);

/* Whether everything is to be killed now. */
bool ending_is_due(const struct ending *ending, uint64_t now_ns);

/*
 * For a process whose children run a command each: sends CHILD what makes it end its command, politely or AT_ONCE. The
 * children are in process groups of their own, so that nothing meant for the caller's reaches them a second time.
 */
void ending_send(pid_t child, bool at_once);

/* Such a process received a signal: whether that is a second one, which kills. *FIRST_NS is 0 before the first. */
bool ending_insists(uint64_t *first_ns, uint64_t now_ns);

#endif
