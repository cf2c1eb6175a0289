/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program step by step and prints which of its instructions it executed, in the order of their first execution.
 *
 * usage: steps OUT PROGRAM ARGUMENT...
 * OUT gets one line per address, in hexadecimal, counted from where the program was loaded. Children are followed until
 * they execute something else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM_MAX (16 << 20)
#define FOLLOWED                                                                               \
	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | \
	 PTRACE_O_EXITKILL)

static unsigned char seen[PROGRAM_MAX];
static unsigned long start, end;

static void find_program(pid_t pid, const char *program)
{
	char path[64], line[4096];
	unsigned long from, to;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, program) || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		start = start ? start : from;
		end = to;
	}
	if (maps)
		(void)fclose(maps);
}

static void note(pid_t pid, FILE *out)
{
	struct user_regs_struct registers;
	unsigned long at;

	if (ptrace(PTRACE_GETREGS, pid, 0, &registers) < 0 || registers.rip < start ||
	    registers.rip >= end || registers.rip - start >= PROGRAM_MAX)
		return;
	at = registers.rip - start;
	if (!seen[at])
		(void)fprintf(out, "%lx\n", at);
	seen[at] = 1;
}

static void follow(FILE *out)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno != EINTR)
			return;
		if (pid < 0 || !WIFSTOPPED(status))
			continue;
		int signal = WSTOPSIG(status);

		note(pid, out);
		if (status >> 16 == PTRACE_EVENT_EXEC)
			(void)ptrace(PTRACE_DETACH, pid, 0, 0);
		else
			(void)ptrace(PTRACE_SINGLESTEP, pid, 0,
				     signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
	}
}

int main(int argc, char **argv)
{
	FILE *out = argc > 2 ? fopen(argv[1], "we") : NULL;
	pid_t pid = out ? fork() : -1;

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, 0, 0);
		(void)execv(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid ||
	    ptrace(PTRACE_SETOPTIONS, pid, 0, FOLLOWED) < 0) {
		perror("steps");
		return 1;
	}
	find_program(pid, argv[2]);
	(void)ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	follow(out);
	return fclose(out) == 0 ? 0 : 1;
}
