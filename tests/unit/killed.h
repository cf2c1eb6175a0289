/* SPDX-License-Identifier: Apache-2.0 */
/* An action in a process that is killed at its Nth step: before or after each system call. */
#ifndef TESTS_KILLED_H
#define TESTS_KILLED_H

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum killed { KILLED_FINISHED, KILLED_KILLED, KILLED_UNABLE };

#define KILLED_NEVER (~0u)
#define KILLED_NT_ARM_SYSCALL 0x404

/* A child that will do ACTION, stopped before it; -1 when there is none. */
static inline pid_t killed_start(void (*action)(void *cookie), void *cookie)
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
		return -1;
	return child;
}

/* Runs ACTION in a child and kills it at stop number AT; KILLED_FINISHED when it ended before that. */
static inline enum killed killed_run(void (*action)(void *cookie), void *cookie, unsigned at)
{
	pid_t child = killed_start(action, cookie);
	int status;

	if (child < 0)
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

/* Makes the system call the stopped child is about to do fail with ERRNUM instead. */
static inline bool killed_refuse(pid_t child, int errnum)
{
	struct user_regs_struct regs;
	struct iovec all = { &regs, sizeof(regs) };
	int status;

	if (ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &all) < 0)
		return false;
		/* Closing closes, whatever it says. */
#if defined(__x86_64__)
	if (regs.orig_rax == SYS_close)
		return true;
	regs.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGSET, child, NT_PRSTATUS, &all) < 0)
		return false;
#else
	if (regs.regs[8] == SYS_close)
		return true;
	int none = -1;
	struct iovec number = { &none, sizeof(none) };

	if (ptrace(PTRACE_SETREGSET, child, KILLED_NT_ARM_SYSCALL, &number) < 0)
		return false;
#endif
	if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) < 0 || waitpid(child, &status, 0) != child ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &all) < 0)
		return false;
#if defined(__x86_64__)
	regs.rax = (unsigned long long)-errnum;
#else
	regs.regs[0] = (unsigned long long)-errnum;
#endif
	return ptrace(PTRACE_SETREGSET, child, NT_PRSTATUS, &all) == 0;
}

/* Runs ACTION in a child whose system call number AT fails with ERRNUM. KILLED_FINISHED when it came without that far. */
static inline enum killed killed_run_refused(void (*action)(void *cookie), void *cookie,
					     unsigned at, int errnum)
{
	pid_t child = killed_start(action, cookie);
	int status;

	if (child < 0)
		return KILLED_UNABLE;
	for (unsigned i = 0; i < 2 * at - 1; i++) {
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) < 0 ||
		    waitpid(child, &status, 0) != child)
			return KILLED_UNABLE;
		if (WIFEXITED(status))
			return KILLED_FINISHED;
	}
	if (!killed_refuse(child, errnum))
		return KILLED_UNABLE;
	(void)ptrace(PTRACE_CONT, child, NULL, NULL);
	/* How it ends is its own affair: giving up is an answer. */
	if (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		(void)kill(child, SIGKILL);
		(void)waitpid(child, &status, 0);
	}
	return KILLED_KILLED;
}

#endif
