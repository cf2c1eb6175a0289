/* SPDX-License-Identifier: Apache-2.0 */
/* A process that wants to end with its parent. */
#include "base/process/parent_end.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

void parent_end_follow(pid_t parent, int sig)
{
	parent_end_renew(&(const struct parent_end){ .signal = sig, .parent = parent });
}

void parent_end_note(struct parent_end *ret_wish)
{
	*ret_wish = (struct parent_end){ .parent = getppid() };
	(void)prctl(PR_GET_PDEATHSIG, &ret_wish->signal, 0, 0, 0);
}

void parent_end_renew(const struct parent_end *wish)
{
	int saved = errno;

	if (wish->signal != 0) {
		(void)prctl(PR_SET_PDEATHSIG, wish->signal, 0, 0, 0);
		if (getppid() != wish->parent)
			(void)kill(getpid(), wish->signal);
	}
	errno = saved;
}
