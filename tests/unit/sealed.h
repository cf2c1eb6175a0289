/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts in a process of its own, with nothing in their way and behind a seal. */
#ifndef TESTS_UNIT_SEALED_H
#define TESTS_UNIT_SEALED_H

#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct sealed_attempt {
	const char *name;
	int (*attempt)(void); /* the error's number, 0 when it worked */
	int wanted;	      /* of one that is sealed */
};

static int sealed_outcome(int (*seal)(void), int (*attempt)(void))
{
	pid_t pid = fork();
	int status = 0;

	/* By its bare call: before _exit a sanitizer makes one that no seal permits, and ends with 1, which is EPERM. */
	if (pid == 0)
		(void)syscall(SYS_exit_group, seal && seal() < 0 ? 255 : attempt());
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void sealed_try(int (*seal)(void), const struct sealed_attempt *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		tap_is_int(sealed_outcome(NULL, rows[i].attempt), 0, "control: %s", rows[i].name);
		tap_is_int(sealed_outcome(seal, rows[i].attempt), rows[i].wanted, "sealed: %s",
			   rows[i].name);
	}
}

static int try_exec(void)
{
	char *const words[] = { (char[]){ "true" }, NULL };

	execv("/bin/true", words);
	return errno;
}

static int try_fork(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid < 0 ? errno : 0;
}

static int try_signal(void)
{
	return kill(getppid(), 0) < 0 ? errno : 0;
}

#endif
