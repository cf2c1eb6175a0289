/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes: forked with a channel or started as a program, waited for, ended. */
#include "base/process/child.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "base/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ret_ends[0] is the parent's. */
static int connect_ends(enum child_link link, int ret_ends[2])
{
	int kind = link == CHILD_TALKS ? SOCK_SEQPACKET : SOCK_STREAM;

	if (link == CHILD_ALONE)
		return 0;
	if (link == CHILD_TALKS || link == CHILD_STREAMS)
		return socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ret_ends);
	if (pipe2(ret_ends, O_CLOEXEC) < 0)
		return -1;
	if (link == CHILD_READS) {
		int read_end = ret_ends[0];

		ret_ends[0] = ret_ends[1];
		ret_ends[1] = read_end;
	}
	return 0;
}

pid_t child_fork(enum child_link link, int end_signal, int *ret_fd, struct error *err)
{
	pid_t parent = end_signal ? getpid() : 0, pid;
	int ends[2] = { -1, -1 };

	if (connect_ends(link, ends) < 0)
		return error_errno(err, ERROR_HOST, "start: no channel to a process");
	pid = fork();
	if (pid == 0 && end_signal)
		parent_end_follow(parent, end_signal);
	fd_close(&ends[pid != 0]);
	if (pid < 0) {
		fd_close(&ends[0]);
		return error_errno(err, ERROR_HOST, PROCESS_REFUSED);
	}
	if (link != CHILD_ALONE)
		*ret_fd = ends[pid == 0];
	return pid;
}

int child_fork_away(enum child_link link, int *ret_fd, struct error *err)
{
	pid_t pid = child_fork(link, 0, ret_fd, err);

	if (pid == 0) {
		pid = fork();
		if (pid != 0)
			_exit(pid < 0);
		return 0;
	}
	if (pid < 0 || child_wait(pid) == 0)
		return pid < 0 ? -1 : 1;
	if (link != CHILD_ALONE)
		fd_close(ret_fd);
	errno = EAGAIN;
	return error_errno(err, ERROR_HOST, PROCESS_REFUSED);
}

pid_t child_exec(const struct child_exec *exec, struct error *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	pid_t pid;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGXFSZ);
	errno = posix_spawn_file_actions_init(&actions);
	if (errno)
		return error_errno(err, ERROR_HOST, "%s", exec->words[0]);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setsigdefault(&attributes, &defaults);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	for (int i = 0; i < 3 && !errno; i++)
		errno = posix_spawn_file_actions_adddup2(&actions, exec->streams[i], i);
	if (exec->directory && !errno)
		errno = posix_spawn_file_actions_addchdir_np(&actions, exec->directory);
	if (!errno)
		errno = posix_spawnp(&pid, exec->words[0], &actions, &attributes, exec->words,
				     exec->environ);
	int failed = errno;

	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	errno = failed;
	return failed ? error_errno(err, ERROR_HOST, "%s", exec->words[0]) : pid;
}

int child_wait(pid_t pid)
{
	int status = -1;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void child_end(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)child_wait(pid);
}

/* Looked for again and again, where the kernel has no descriptor for us; it is not waited for yet. */
static bool has_ended_by(pid_t pid, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	siginfo_t info = { 0 };

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid &&
	       clock_now_ns() < until_ns)
		(void)nanosleep(&pause, NULL);
	return info.si_pid == pid;
}

bool child_wait_within(pid_t pid, uint64_t limit_ms, int *ret_status)
{
	uint64_t until_ns = clock_now_ns() + limit_ms * 1000000;
	owned(fd_close) int fd = pid > 0 ? child_open(pid) : -1;

	/* Numbers from 0 down are groups of processes. */
	*ret_status = -1;
	if (pid <= 0)
		return false;
	bool is_in_time =
		fd >= 0 ? fd_wait_until(fd, POLLIN, until_ns) > 0 : has_ended_by(pid, until_ns);

	/* Before it is waited for, since its numbers are its own until then. A group that it does not lead does not exist. */
	(void)kill(-pid, SIGKILL);
	if (!is_in_time)
		(void)kill(pid, SIGKILL);
	*ret_status = child_wait(pid);
	return is_in_time;
}

int child_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int child_signal(int pid_fd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, pid_fd, signal, NULL, 0);
}
