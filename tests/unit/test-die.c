/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process that makes no sense: words, then SIGABRT; also in a process cloned by hand, of which the C library knows nothing. */
#include "tests/tap.h"

#include "base/core/die.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int end_it(void *unused)
{
	(void)unused;
	die("nothing fits");
}

static void check(pid_t pid, const int *pipe_fds, const char *what)
{
	static const char wanted[] = "aisbx: nothing fits\n";
	char words[4096];
	int status = 0;
	size_t len = 0;
	ssize_t got;

	(void)close(pipe_fds[1]);
	tap_ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
		       WTERMSIG(status) == SIGABRT,
	       "%s ends by SIGABRT", what);
	/* A sanitizer has a remark of its own about a stack that it does not know. */
	while ((got = read(pipe_fds[0], words + len, sizeof(words) - len)) > 0)
		len += (size_t)got;
	tap_ok(len >= strlen(wanted) &&
		       memcmp(words + len - strlen(wanted), wanted, strlen(wanted)) == 0,
	       "%s says why at last", what);
	(void)close(pipe_fds[0]);
}

#ifdef AISBX_INVARIANTS
static void test_invariant(int holds)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		invariant(holds);
		_exit(0);
	}
	tap_ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) != holds,
	       "an invariant that %s", holds ? "holds" : "does not hold ends the process");
}
#endif

int main(void)
{
	const struct rlimit none = { 0, 0 };
	static char stack[65536] __attribute__((aligned(16)));
	int pipe_fds[2], kept = dup(STDERR_FILENO);
	pid_t pid;

	(void)setrlimit(RLIMIT_CORE, &none);
	if (pipe(pipe_fds) < 0 || (pid = fork()) < 0)
		tap_bail("fork");
	if (pid == 0) {
		(void)dup2(pipe_fds[1], STDERR_FILENO);
		(void)end_it(NULL);
	}
	check(pid, pipe_fds, "a child");
	if (pipe(pipe_fds) < 0 || dup2(pipe_fds[1], STDERR_FILENO) < 0)
		tap_bail("pipe");
	pid = clone(end_it, stack + sizeof(stack), SIGCHLD, NULL);
	(void)dup2(kept, STDERR_FILENO);
	(void)close(kept);
	check(pid, pipe_fds, "one cloned by hand");
#ifdef AISBX_INVARIANTS
	test_invariant(0);
	test_invariant(1);
#endif
	return tap_done();
}
