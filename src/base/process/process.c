/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: their numbers, what they used, and leaving the one that started us behind. */
#include "base/process/process.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Ticks since boot at which process PID began, and the letter of its state; 0 when there is none. */
static uint64_t began_ticks(int64_t pid, char *ret_state)
{
	char path[48], text[1024];
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	/* The name in brackets may hold anything; what follows the last one does not. */
	at = strrchr(text, ')');
	*ret_state = at && at[1] ? at[2] : 'X';
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

bool process_is_of(int64_t pid, uint64_t then_ms, uint64_t slack_ms)
{
	char state = '?';
	uint64_t ticks = pid > 0 ? began_ticks(pid, &state) : 0;
	struct timespec up;
	uint64_t began_ms;

	/* A zombie has ended all the same. */
	if (state == 'Z' || state == 'X')
		return false;
	/* Where /proc hides others' processes there is no more to be known than that it exists. */
	if (!ticks || clock_gettime(CLOCK_BOOTTIME, &up) < 0)
		return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
	began_ms = clock_epoch_ms() - (uint64_t)up.tv_sec * 1000 +
		   ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	return began_ms <= then_ms + slack_ms;
}

uint64_t process_began(int64_t pid)
{
	char state;

	return pid > 0 ? began_ticks(pid, &state) : 0;
}

bool process_kill(int64_t pid, uint64_t ticks, bool if_halted)
{
	owned(fd_close) int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	char state = '?';

	/* Looked at behind the descriptor: the number can belong to no other process any more. */
	if (fd < 0 || !ticks || began_ticks(pid, &state) != ticks || state == 'Z' || state == 'X')
		return false;
	if (if_halted && state != 'T' && state != 't')
		return false;
	return syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
}

bool process_wait_end(int64_t pid, uint64_t ticks, int ms)
{
	owned(fd_close) int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;

	return fd < 0 || process_began(pid) != ticks || fd_wait(fd, POLLIN, ms) > 0;
}

bool process_can_go_on(pid_t child)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)child, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

struct process_used process_used_of(const struct rusage *usage)
{
	return (struct process_used){
		.cpu_us = microseconds(&usage->ru_utime) + microseconds(&usage->ru_stime),
		.peak_memory_bytes = (uint64_t)usage->ru_maxrss * 1024,
	};
}

void process_handled_signals(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGINT);
	sigaddset(ret_set, SIGTERM);
	sigaddset(ret_set, SIGHUP);
	sigaddset(ret_set, SIGQUIT);
	sigaddset(ret_set, SIGWINCH);
	sigaddset(ret_set, SIGPIPE);
	sigaddset(ret_set, SIGCONT);
}

int process_watch_end(sigset_t *ret_before)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &mask, ret_before) < 0)
		return -1;
	return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

void process_heed_signals(void)
{
	/* Asked of the kernel: the library refuses two of them, which would stay as they came. */
	static const uint64_t by_default[4];

	for (int sig = 1; sig < NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, by_default, NULL, sizeof(uint64_t));
}

static bool is_kept(const int *keep, size_t count, int fd)
{
	for (size_t i = 0; i < count; i++) {
		if (keep[i] == fd)
			return true;
	}
	return false;
}

int process_detach(const int *keep, size_t count, const char *name)
{
	sigset_t none;
	int fd;

	/* What the first caller ignores is nothing to the others. */
	process_heed_signals();
	/* As in main: a file that may not grow is an error, and not the end. */
	(void)signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	fd_close_others(keep, count);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd < 0 || setsid() < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		/* What is kept may have one of these numbers when the caller had closed its own. */
		if (i != fd && !is_kept(keep, count, i) && dup2(fd, i) < 0)
			return -1;
	}
	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	return 0;
}
