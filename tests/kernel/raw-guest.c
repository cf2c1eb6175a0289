/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one module the way a zygote runs Python: with our own WASI, in a fork, confined as that is. Made for modules that no
 * language is: the driver itself gives that WASI to languages it knows by their hash, and to nobody else.
 *
 *	raw-guest RUNNER ENGINE MODULE WORKSPACE FUEL MEMORY TIME_MS
 *
 * Its own streams become the guest's. The last line of standard output says how it went: outcome, exit status, signal,
 * fuel.
 */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "driver/wasm/report.h"
#include "driver/wasm/zygote.h"
#include "launch/passed_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ARG_RUNNER = 1,
	ARG_ENGINE,
	ARG_MODULE,
	ARG_WORKSPACE,
	ARG_FUEL,
	ARG_MEMORY,
	ARG_TIME,
	ARG_COUNT
};

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "raw-guest: %s: %s\n", what, strerror(errno));
	exit(99);
}

/* As a hand is given: a number above the streams, which stays over an exec. */
static int keep(int fd)
{
	int kept = fd < 0 ? -1 : fcntl(fd, F_DUPFD, STDERR_FILENO + 1);

	if (kept < 0)
		fail("a descriptor");
	return kept;
}

static pid_t start(char **argv, const char *mode, int child_fd, int module_fd)
{
	char hands[96], environ_line[128];
	char *const environ_given[] = { environ_line, (char[]){ "+AISBX_SANDBOX=raw" }, NULL };
	char dashes[] = "--", none[] = "", guest[] = "guest";
	char *const words[] = { argv[ARG_RUNNER],
				strdup(mode),
				argv[ARG_FUEL],
				argv[ARG_MEMORY],
				argv[ARG_TIME],
				argv[ARG_WORKSPACE],
				argv[ARG_WORKSPACE],
				none,
				dashes,
				guest,
				NULL };
	pid_t pid;

	(void)snprintf(hands, sizeof(hands), "%d,%d,%d,%d",
		       keep(open(argv[ARG_RUNNER], O_RDONLY | O_CLOEXEC)),
		       keep(open(argv[ARG_ENGINE], O_RDONLY | O_CLOEXEC)), keep(child_fd),
		       keep(module_fd));
	(void)snprintf(environ_line, sizeof(environ_line), PASSED_FDS_VARIABLE "=%s", hands);
	pid = fork();
	if (pid == 0) {
		(void)execve(words[0], words, environ_given);
		_exit(99);
	}
	free(words[1]);
	if (pid < 0)
		fail("fork");
	return pid;
}

/* What the runner makes of the module, as a file. */
static int compile(char **argv)
{
	owned(fd_close) int child_fd = memfd_create("told", 0);
	owned(fd_close) int module_fd = open(argv[ARG_MODULE], O_RDONLY | O_CLOEXEC);
	owned(str_done) struct str text = STR_INIT;
	int compiled_fd = memfd_create("compiled", MFD_CLOEXEC);
	struct wasm_report report;
	pid_t pid = start(argv, WASM_MODE_COMPILE, child_fd, module_fd);

	if (waitpid(pid, NULL, 0) != pid || lseek(child_fd, 0, SEEK_SET) < 0 ||
	    fd_read_all(child_fd, (size_t)1 << 30, &text) < 0 || text.len < sizeof(report))
		fail("compiling");
	memcpy(&report, text.data, sizeof(report));
	if (report.kind != WASM_REPORT_COMPILED || report.length > text.len - sizeof(report)) {
		(void)fprintf(stderr, "raw-guest: not compiled: %.*s\n",
			      (int)(text.len - sizeof(report)), text.data + sizeof(report));
		exit(99);
	}
	if (fd_write_all(compiled_fd, text.data + sizeof(report), (size_t)report.length) < 0)
		fail("compiling");
	return compiled_fd;
}

static int words_file(void)
{
	static const char words[] = "guest\0one\0+A=1";
	int fd = memfd_create("words", MFD_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, words, sizeof(words)) < 0)
		fail("words");
	return fd;
}

static void ask(int control_fd, char **argv, int report_fd)
{
	const struct zygote_message message = { .kind = ZYGOTE_RUN,
						.is_started = true,
						.argc = 2,
						.fuel = strtoull(argv[ARG_FUEL], NULL, 10),
						.time_ms = strtoull(argv[ARG_TIME], NULL, 10) };
	owned(fd_close) int words_fd = words_file();
	owned(fd_close) int view_fd = open(argv[ARG_WORKSPACE], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int fds[RUN_FD_COUNT] = {
		[RUN_FD_WORDS] = words_fd,    [RUN_FD_IN] = STDIN_FILENO,
		[RUN_FD_OUT] = STDOUT_FILENO, [RUN_FD_ERR] = STDERR_FILENO,
		[RUN_FD_REPORT] = report_fd,  [RUN_FD_WORKSPACE] = view_fd,
		[RUN_FD_CWD] = view_fd,
	};

	if (fd_send(control_fd, &message, sizeof(message), fds, RUN_FD_COUNT) < 0)
		fail("asking");
}

static void expect(int control_fd, enum zygote_kind kind, struct zygote_message *ret)
{
	ssize_t got;

	do
		got = recv(control_fd, ret, sizeof(*ret), 0);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(*ret) || ret->kind != (uint32_t)kind)
		fail(kind == ZYGOTE_READY ? "it does not read" : "it does not end");
}

static void tell(int report_fd, int status)
{
	struct wasm_report report = { .outcome = UINT32_MAX };

	if (read(report_fd, &report, sizeof(report)) != (ssize_t)sizeof(report))
		report = (struct wasm_report){ .outcome = UINT32_MAX };
	(void)printf("\n%d %d %d %llu\n", (int)report.outcome,
		     WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		     WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		     (unsigned long long)report.fuel_consumed);
}

int main(int argc, char **argv)
{
	int control[2], report[2], compiled_fd;
	struct zygote_message message;
	pid_t pid;

	if (argc != ARG_COUNT)
		return 2;
	compiled_fd = compile(argv);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 ||
	    pipe2(report, O_CLOEXEC) < 0)
		fail("a socket");
	pid = start(argv, WASM_MODE_SERVE_PYTHON, control[1], compiled_fd);
	(void)close(control[1]);
	expect(control[0], ZYGOTE_READY, &message);
	ask(control[0], argv, report[1]);
	(void)close(report[1]);
	expect(control[0], ZYGOTE_ENDED, &message);
	tell(report[0], message.wait_status);
	/* Without us it has nothing more to wait for. */
	(void)close(control[0]);
	(void)waitpid(pid, NULL, 0);
	return 0;
}
