/* SPDX-License-Identifier: Apache-2.0 */
/* The time between asking a command to end and killing it. */
#include "run/ending.h"

#include <signal.h>
#include <unistd.h>

/* Far longer than timeout(1) takes from its second signal to the SIGCONT; too short for a person to notice. */
#define TWIN_NS 100000000ull

void ending_begin(struct ending *ending, uint64_t now_ns, uint64_t grace_ms)
{
	ending->was_asked = true;
	ending->kill_ns = now_ns + grace_ms * 1000000;
}

void ending_again(struct ending *ending, const struct signalfd_siginfo *info, uint64_t now_ns)
{
	bool may_be_twin =
		(int)info->ssi_signo == ending->signal && (pid_t)info->ssi_pid == getpgrp();

	if (!ending->insists_ns)
		ending->insists_ns = may_be_twin ? now_ns + TWIN_NS : now_ns;
}

void ending_continued(struct ending *ending)
{
	ending->insists_ns = 0;
}

uint64_t ending_next_ns(const struct ending *ending)
{
	return ending->insists_ns && ending->insists_ns < ending->kill_ns ? ending->insists_ns
									  : ending->kill_ns;
}

bool ending_is_due(const struct ending *ending, uint64_t now_ns)
{
	uint64_t next_ns = ending_next_ns(ending);

	return next_ns && now_ns >= next_ns;
}

void ending_send(pid_t child, bool at_once)
{
	(void)kill(child, SIGTERM);
	/* Another one than the first, which may still be pending: two of a kind would be one. */
	if (at_once)
		(void)kill(child, SIGINT);
}

bool ending_insists(uint64_t *first_ns, uint64_t now_ns)
{
	bool is_first = *first_ns == 0;

	if (is_first)
		*first_ns = now_ns;
	return !is_first && now_ns - *first_ns > TWIN_NS;
}
