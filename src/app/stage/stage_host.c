/* SPDX-License-Identifier: Apache-2.0 */
/* Checks on the host itself: for pipelines in the user's own configuration, and for them alone. */
#include "app/stage/stage_parts.h"

#include "base/process/child.h"
#include "base/core/own.h"
#include "decide/gate/gate.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAIL_BYTES 200

_Noreturn static void become_shell(const char *text, const char *target, int output_fd)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)setpgid(0, 0);
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(output_fd, STDOUT_FILENO) < 0 ||
	    dup2(output_fd, STDERR_FILENO) < 0 || chdir(target) < 0)
		_exit(126);
	(void)execl("/bin/sh", "sh", "-c", "--", text, (char *)NULL);
	_exit(127);
}

/* The last line it wrote is more helpful than a number. */
static void add_tail(struct str *evidence, int fd)
{
	char bytes[TAIL_BYTES + 1], shown[STR_SHOWN_SIZE];
	off_t size = lseek(fd, 0, SEEK_END);
	ssize_t got =
		size <= 0 ? 0
			  : pread(fd, bytes, TAIL_BYTES, size > TAIL_BYTES ? size - TAIL_BYTES : 0);
	const char *line;

	while (got > 0 && bytes[got - 1] == '\n')
		got--;
	if (got <= 0)
		return;
	bytes[got] = '\0';
	line = strrchr(bytes, '\n');
	str_addf(evidence, ": %s", str_shown(line ? line + 1 : bytes, shown));
}

int stage_check_on_host(const char *text, const char *target, uint64_t time_ms,
			struct gate_verdict *ret_verdict, struct error *err)
{
	owned(fd_close) int output = memfd_create("check", MFD_CLOEXEC);
	owned(str_done) struct str evidence = STR_INIT;
	int status = 0;

	if (output < 0)
		return error_errno(err, ERROR_HOST, "a check on the host");
	pid_t pid = child_fork(CHILD_ALONE, SIGKILL, NULL, err);

	if (pid == 0)
		become_shell(text, target, output);
	if (pid < 0)
		return -1;
	/* Here as well as there: the first to arrive. */
	(void)setpgid(pid, pid);
	bool in_time = child_wait_within(pid, time_ms, &status);

	ret_verdict->holds = in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (!in_time)
		str_add(&evidence, "timeout, on the host");
	else if (WIFEXITED(status))
		str_addf(&evidence, "exit %d, on the host", WEXITSTATUS(status));
	else
		str_addf(&evidence, "signal %d, on the host", WTERMSIG(status));
	add_tail(&evidence, output);
	ret_verdict->evidence = str_detach(&evidence);
	return 0;
}
