/* SPDX-License-Identifier: Apache-2.0 */
/* Ending with one's parent: when it ends, and when it has ended before the wish was made. */
#include "base/process/parent_end.h"

#include "tests/tap.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum wish { WISH_BEFORE, WISH_BEHIND, WISH_UNCHECKED };

static void make_wish(enum wish wish, pid_t parent)
{
	if (wish == WISH_UNCHECKED)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	else
		parent_end_follow(parent, SIGKILL);
}

/* The grandchild: says so once when it is there, and once more when it has survived its parent and its wish. */
static _Noreturn void follow(enum wish wish, pid_t parent, int go_fd, int child_fd)
{
	char byte;

	if (wish == WISH_BEFORE)
		make_wish(wish, parent);
	if (write(child_fd, "", 1) != 1 || read(go_fd, &byte, 1) != 1)
		_exit(1);
	if (wish != WISH_BEFORE)
		make_wish(wish, parent);
	_exit(write(child_fd, "", 1) != 1);
}

static _Noreturn void stay(enum wish wish, int go_fd, int child_fd)
{
	pid_t self = getpid();

	if (fork() == 0)
		follow(wish, self, go_fd, child_fd);
	(void)close(child_fd);
	(void)pause();
	_exit(0);
}

/* Whether somebody who makes that wish lives on when its parent is killed. */
static bool lives_on(enum wish wish)
{
	int go[2], told[2];
	bool is_alive;
	char byte;
	pid_t pid;

	if (pipe(go) < 0 || pipe(told) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		(void)close(go[1]);
		stay(wish, go[0], told[1]);
	}
	(void)close(told[1]);
	(void)close(go[0]);
	is_alive = read(told[0], &byte, 1) == 1;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	/* Nobody reads it where the wish was fulfilled. */
	(void)!write(go[1], "", 1);
	is_alive = is_alive && read(told[0], &byte, 1) == 1;
	(void)close(told[0]);
	(void)close(go[1]);
	return is_alive;
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	tap_ok(lives_on(WISH_UNCHECKED),
	       "control: who asks too late, and only the kernel, lives on");
	tap_ok(!lives_on(WISH_BEHIND), "who asks too late ends at once");
	tap_ok(!lives_on(WISH_BEFORE), "who asks in time ends with its parent");
	return tap_done();
}
