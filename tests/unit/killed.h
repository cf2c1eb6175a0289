/* An action in a process that is killed at its Nth step: before or after each system call. */
#ifndef TESTS_KILLED_H
#define TESTS_KILLED_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum killed { KILLED_FINISHED, KILLED_KILLED, KILLED_UNABLE };

#define KILLED_NEVER (~0u)

/* Runs ACTION in a child and kills it at stop number AT; KILLED_FINISHED when it ended before that. */
static inline enum killed killed_run(void (*action)(void *cookie), void *cookie, unsigned at)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(99);
		(void)raise(SIGSTOP);
		action(cookie);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return KILLED_UNABLE;
	for (unsigned i = 0; i < at; i++) {
		if (ptrace(at == KILLED_NEVER ? PTRACE_CONT : PTRACE_SYSCALL, child, NULL, NULL) <
			    0 ||
		    waitpid(child, &status, 0) != child)
			return KILLED_UNABLE;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? KILLED_FINISHED
									     : KILLED_UNABLE;
	}
	(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	return KILLED_KILLED;
}

#endif
