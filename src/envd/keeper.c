/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of the interpreter: kernels have sessions of their own, and so have programs that their code starts. */
#include "envd/keeper.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_BYTES ((size_t)1 << 20)

static void end_children(void)
{
	const struct rlimit none = { 0, 0 };
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;
	char path[64], *end;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fd_read_all(fd, LIST_BYTES, &text) < 0)
		_exit(125);
	/* First it may start no further process: then a look that finds all finds them for good. */
	for (const char *at = str_cstr(&text);; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0)
			return;
		(void)syscall(SYS_prlimit64, (pid_t)pid, RLIMIT_NPROC, &none, NULL);
		(void)kill((pid_t)pid, SIGKILL);
	}
}

/* Each round ends all children; theirs are ours then. */
static _Noreturn void end_all(void)
{
	do
		end_children();
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
	_exit(0);
}

void keeper_stay(void)
{
	sigset_t mask, old;
	pid_t child;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &mask, &old);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	child = fork();
	if (child == 0) {
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
		return;
	}
	if (child < 0)
		_exit(125);
	/* The streams are the child's; a start that fails is seen by their end, and that by the pipe which exec closes. */
	fd_close_others(NULL, 0);
	for (;;) {
		int sig = sigwaitinfo(&mask, NULL);
		pid_t pid;

		if (sig == SIGTERM)
			end_all();
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
			if (pid == child)
				end_all();
		}
	}
}
