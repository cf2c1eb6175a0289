/* SPDX-License-Identifier: Apache-2.0 */
/* Reporting of attacks, and tries made in a child of their own. */
#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void report_text(const char *name, const char *format, ...)
{
	char line[1024];
	char text[800];
	va_list args;
	int len;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	len = snprintf(line, sizeof(line), "%s\t%s\n", name, text);
	if (len < 0 || write(STDOUT_FILENO, line, (size_t)len) != len)
		_exit(99);
}

void report(const char *name, long rc)
{
	const char *text = "OK";

	if (rc == -1) {
		text = strerrorname_np(errno);
		if (!text)
			text = "EUNKNOWN";
	}
	report_text(name, "%s", text);
}

void attempt(const char *name, long (*act)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		report_text(name, "no fork: %s", strerror(errno));
		return;
	}
	if (pid == 0) {
		long rc;

		alarm(20);
		errno = 0;
		rc = act(arg);
		report(name, rc);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		report_text(name, "no wait: %s", strerror(errno));
	else if (WIFSIGNALED(status))
		report_text(name, "SIG%s", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		report_text(name, "exit %d", WEXITSTATUS(status));
}

static long act_call(void *arg)
{
	const struct call *call = arg;
	const long *a = call->args;

	return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void attempt_calls(const struct call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct call call = calls[i];

		attempt(call.name, act_call, &call);
	}
}
