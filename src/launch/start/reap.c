/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init does for the rest of its life: wait for processes that end, report the command's end, pass on the supervisor's
 * signals, and where directories cannot be renamed as they are, have that prepared (dir_rename_process.h).
 */
#include "launch/setup/start.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "launch/exec/pids_limit.h"
#include "launch/setup/handshake.h"
#include "launch/rename/dir_rename_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long behind the exec a command is short. */
#define KEPT_MS 100

struct reaper {
	int control_fd;
	uint64_t pids; /* the limit, where init can look; 0: does not */
	pid_t payload;
	struct reap_kept kept;
	struct dir_rename_process dir_rename_process;
};

static _Noreturn void report_end(const struct reaper *reaper, int status)
{
	struct message message = { .kind = MESSAGE_ENDED, .at_ns = clock_now_ns() };
	struct rusage usage = { 0 };

	message.ended.wait_status = status;
	message.ended.pids_hit = pids_limit_is_hit(reaper->pids);
	/* Orphans killed with us are missing here; where there is a cgroup its figure wins. */
	(void)getrusage(RUSAGE_CHILDREN, &usage);
	message.ended.used = process_used_of(&usage);
	(void)handshake_send(reaper->control_fd, &message, NULL, 0);
	_exit(0);
}

/* Reaps all ended processes; with WNOHANG returns then, without it waits for the next one for ever. */
static void reap_ended(struct reaper *reaper, int options)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, options);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid == 0)
			return;
		/* Without a child there is no status: saying nothing is a failure, 0 would be a success. */
		if (pid < 0)
			_exit(1);
		if (pid == reaper->payload)
			report_end(reaper, status);
		if (pid == reaper->dir_rename_process.pid)
			dir_rename_process_report(&reaper->dir_rename_process);
	}
}

static _Noreturn void serve(struct reaper *reaper)
{
	struct signalfd_siginfo info;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	int signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);

	if (signal_fd < 0)
		_exit(1);
	for (;;) {
		struct pollfd polls[] = { { .fd = signal_fd, .events = POLLIN },
					  { .fd = reaper->control_fd, .events = POLLIN },
					  { .fd = reaper->kept.release_fd } };
		bool is_due = reaper->kept.release_fd < 0 && reaper->kept.proc_fd >= 0;

		reap_ended(reaper, WNOHANG);
		int count = poll(polls, 3, is_due ? KEPT_MS : -1);

		if (count < 0) {
			/* Lowering init's limits costs renames, and gains no loop. */
			if (errno != EINTR)
				reap_ended(reaper, 0);
			continue;
		}
		if (count == 0)
			fd_close(&reaper->kept.proc_fd);
		if (polls[2].revents)
			fd_close(&reaper->kept.release_fd);
		/* Several ends can share one signal; reap_ended takes them all. */
		(void)!read(signal_fd, &info, sizeof(info));
		/* One that was handed over has no other sign of it when signals come together. */
		if (polls[1].revents & POLLHUP)
			_exit(1);
		if (polls[1].revents)
			dir_rename_process_start(&reaper->dir_rename_process);
	}
}

/* The leader of the command's process group; a handler has no other way to it. */
static pid_t command_group;

/* From outside, where processes have no number here: what the command and others inside send is ignored, as ever. */
static void pass_on(int sig, siginfo_t *info, void *unused)
{
	int saved = errno;

	(void)unused;
	if (info->si_pid == 0)
		(void)kill(-command_group, sig);
	errno = saved;
}

/* They are blocked since the supervisor cloned us: what came before waits until now. */
void reap_pass_signals(pid_t payload)
{
	struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };
	static const int passed[] = { SIGTERM, SIGINT, SIGHUP };
	sigset_t set;

	command_group = payload;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
		(void)sigaction(passed[i], &action, NULL);
		sigaddset(&set, passed[i]);
	}
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* The kernel alone sends such a signal: a process inside can set no code like that. */
static void end_with_holder(int sig, siginfo_t *info, void *unused)
{
	(void)sig;
	(void)unused;
	if (info->si_code == POLL_HUP)
		_exit(1);
}

int reap_follow_holder(int control_fd)
{
	const struct sigaction action = { .sa_sigaction = end_with_holder,
					  .sa_flags = SA_SIGINFO | SA_RESTART };
	struct pollfd end = { .fd = control_fd };

	if (sigaction(SIGIO, &action, NULL) < 0 || fcntl(control_fd, F_SETSIG, SIGIO) < 0 ||
	    fcntl(control_fd, F_SETOWN, getpid()) < 0 ||
	    fcntl(control_fd, F_SETFL, O_RDWR | O_ASYNC) < 0)
		return -1;
	/* Closed before the kernel knew of the wish. */
	if (poll(&end, 1, 0) != 0)
		_exit(1);
	return prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

_Noreturn void reap_main(const struct start *start, pid_t payload, const struct reap_kept *kept)
{
	struct reaper reaper = { .control_fd = start->control_fd,
				 .payload = payload,
				 .kept = *kept,
				 .dir_rename_process = { .control_fd = start->control_fd } };

	if (!root_is_idmapped(start->spec->root)) {
		reaper.pids = start->spec->limits.pids;
		serve(&reaper);
	}
	for (;;)
		reap_ended(&reaper, 0);
}
