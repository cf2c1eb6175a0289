/* SPDX-License-Identifier: Apache-2.0 */
/* The reaper of a payload's processes. */
#include "driver/keeper.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "observe/descendants.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_AGAIN_MS 5

struct keeper {
	pid_t payload;
	bool has_ended; /* the payload */
	struct keeper_report report;
};

/* First it may start no further process: then a look that finds all finds them for good. */
static void end_one(pid_t pid, void *cookie)
{
	const struct rlimit none = { 0, 0 };

	(void)cookie;
	(void)syscall(SYS_prlimit64, pid, RLIMIT_NPROC, &none, NULL);
	(void)kill(pid, SIGKILL);
}

/* Whether a child is left. */
static bool reap(struct keeper *keeper)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		if (pid != keeper->payload)
			continue;
		keeper->has_ended = true;
		keeper->report = (struct keeper_report){ .wait_status = status,
							 .ended_ns = clock_now_ns(),
							 .used = process_used_of(&usage) };
	}
	return pid == 0 || errno != ECHILD;
}

static void end_all(struct keeper *keeper, int signal_fd)
{
	struct signalfd_siginfo info;

	while (reap(keeper)) {
		descendants_visit(getpid(), end_one, NULL);
		(void)fd_wait(signal_fd, POLLIN, LOOK_AGAIN_MS);
		while (read(signal_fd, &info, sizeof(info)) > 0)
			;
	}
}

/* False when the supervisor is gone, or wants an end of all. */
static bool obey(const struct keeper *keeper, int fd)
{
	int sig = 0;
	ssize_t got = recv(fd, &sig, sizeof(sig), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got != (ssize_t)sizeof(sig) || sig == SIGKILL)
		return false;
	/* Before it leads a group it is the only one. */
	if (kill(-keeper->payload, sig) < 0)
		(void)kill(keeper->payload, sig);
	return true;
}

static void attend(struct keeper *keeper, int fd, int signal_fd)
{
	struct signalfd_siginfo info;

	for (;;) {
		struct pollfd polls[] = { { .fd = fd, .events = POLLIN },
					  { .fd = signal_fd, .events = POLLIN } };

		(void)reap(keeper);
		if (keeper->has_ended)
			return;
		if (poll(polls, 2, -1) < 0)
			continue;
		while (read(signal_fd, &info, sizeof(info)) > 0)
			;
		if (polls[0].revents && !obey(keeper, fd))
			return;
	}
}

_Noreturn void copied_keeper_main(struct copied_task *task, int fd, int start_fd)
{
	struct keeper keeper = { 0 };
	owned(fd_close) int signal_fd = -1;
	sigset_t mask;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "aisbx-keeper", 0, 0, 0);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	keeper.payload = fork();
	if (keeper.payload == 0) {
		fd_close(&fd);
		copied_payload(task, start_fd);
	}
	sigfillset(&mask);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	/* The command's streams are not for us to keep open; nor would a start that fails be noticed. */
	fd_close_others(&fd, 1);
	signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper.payload < 0 || signal_fd < 0)
		_exit(125);
	attend(&keeper, fd, signal_fd);
	end_all(&keeper, signal_fd);
	(void)!send(fd, &keeper.report, sizeof(keeper.report), MSG_NOSIGNAL);
	_exit(0);
}
