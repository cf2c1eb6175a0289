/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner as a zygote (zygote.h): waits with the engine loaded and the module mapped, and forks for each run.
 *
 * The zygote itself never runs anything a run brought along. Its children cannot trace it, for it is not dumpable, nor
 * leave a process behind: they may not fork, and a zygote that finds another process beside it ends, and its sandbox with
 * it.
 */
#include "driver/wasm/runner.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "driver/wasm/zygote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child is the first to go when memory is short. */
static void volunteer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		(void)close(fd);
	}
}

/* Words are arguments, then variables; both lists point into the mapping. */
static int take_words(struct runner_job *job, int fd, uint32_t argc)
{
	struct stat st;
	size_t count = 0, at = 0;
	const char **words;
	char *bytes;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || (size_t)st.st_size > ZYGOTE_WORDS_MAX)
		return -1;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED || bytes[st.st_size - 1] != '\0')
		return -1;
	for (size_t i = 0; i < (size_t)st.st_size; i++)
		count += bytes[i] == '\0';
	/* One more for the end of each list. */
	words = calloc(count + 2, sizeof(*words));
	if (!words || argc == 0 || argc > count)
		return -1;
	for (size_t i = 0; i < count; i++) {
		words[i < argc ? i : i + 1] = bytes + at;
		at += strlen(bytes + at) + 1;
	}
	job->argc = (int)argc;
	job->argv = words;
	job->environ = words + argc + 1;
	return 0;
}

/* The run's own streams, words and directories take the place of the zygote's. */
static int become_run(struct runner *runner, const struct zygote_message *asked, const int *fds)
{
	static char workspace[40], cwd[40];
	struct runner_job *job = &runner->job;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* The child holds no secrets of its parent, and a supervisor that prepares a rename must be able to inspect it. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	volunteer();
	(void)close(job->passed_fds[WASM_HAND_REPORT]);
	for (int i = 0; i < 3; i++) {
		if (dup2(fds[RUN_FD_IN + i], i) < 0)
			return -1;
		(void)close(fds[RUN_FD_IN + i]);
	}
	job->passed_fds[WASM_HAND_REPORT] = fds[RUN_FD_REPORT];
	job->fuel = asked->fuel;
	job->time_ms = asked->time_ms;
	(void)snprintf(workspace, sizeof(workspace), "/proc/self/fd/%d", fds[RUN_FD_WORKSPACE]);
	(void)snprintf(cwd, sizeof(cwd), "/proc/self/fd/%d", fds[RUN_FD_CWD]);
	job->workspace_from = workspace;
	job->cwd_from = cwd;
	if (take_words(job, fds[RUN_FD_WORDS], asked->argc) < 0 || runner_replace(runner) < 0)
		return -1;
	(void)close(fds[RUN_FD_WORDS]);
	if (runner_lock_files(fds[RUN_FD_WORKSPACE],
			      job->library[0] ? job->passed_fds[WASM_HAND_LIBRARY] : -1) < 0)
		return -1;
	if (runner->is_started) {
		(void)close(fds[RUN_FD_WORKSPACE]);
		(void)close(fds[RUN_FD_CWD]);
	}
	return runner_lockdown_run();
}

/* Waits for the child's end, and ends it when the supervisor asks. False: the supervisor is gone. */
static bool attend(int control_fd, pid_t pid)
{
	int end_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct zygote_message message;
	bool is_kept = end_fd >= 0;

	while (is_kept) {
		struct pollfd polls[] = { { .fd = end_fd, .events = POLLIN },
					  { .fd = control_fd, .events = POLLIN } };

		if (poll(polls, 2, -1) < 0)
			continue;
		if (polls[0].revents)
			break;
		is_kept = recv(control_fd, &message, sizeof(message), 0) ==
				  (ssize_t)sizeof(message) &&
			  message.kind == ZYGOTE_KILL;
		/* Our own child, which no other process can have reaped. */
		(void)kill(pid, SIGKILL);
	}
	if (end_fd >= 0)
		(void)close(end_fd);
	return is_kept;
}

/*
 * Whether there is a process here other than init and this one: a run that found a way around its filter left it behind.
 * The zygote then ends, and with it the sandbox and all its processes. Signals are not sent to single pids: without a pid
 * namespace around us they could hit an unrelated process.
 */
static bool has_company(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)) != NULL) {
		long pid = strtol(entry->d_name, NULL, 10);

		found = pid > 1 && pid != (long)getpid();
	}
	if (dir)
		(void)closedir(dir);
	return found || !dir;
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

static bool is_alone(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	/* Two of them are no threads. */
	return count == 3;
}

static int serve_one(struct runner *runner, const struct zygote_message *asked, const int *fds)
{
	int control_fd = runner->job.passed_fds[WASM_HAND_REPORT];
	struct zygote_message ended = { .kind = ZYGOTE_ENDED, .began_ns = clock_now_ns() };
	struct rusage usage = { 0 };
	pid_t pid = fork();

	if (pid == 0)
		return become_run(runner, asked, fds) < 0 ? -1 : 1;
	close_all(fds, RUN_FD_COUNT);
	if (pid < 0)
		_exit(125);
	bool is_kept = attend(control_fd, pid);

	while (wait4(pid, &ended.wait_status, 0, &usage) < 0 && errno == EINTR)
		;
	ended.used = process_used_of(&usage);
	ended.ended_ns = clock_now_ns();
	if (!is_kept || fd_send(control_fd, &ended, sizeof(ended), NULL, 0) < 0 || has_company())
		_exit(0);
	return 0;
}

/* The next run asked for; without a supervisor there is none, and nothing more to do. */
static void await_run(int control_fd, struct zygote_message *ret_message,
		      int ret_fds[static ZYGOTE_FDS_MAX])
{
	for (;;) {
		size_t count = 0;
		ssize_t got = fd_receive(control_fd, ret_message, sizeof(*ret_message), ret_fds,
					 ZYGOTE_FDS_MAX, &count);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != (ssize_t)sizeof(*ret_message))
			_exit(0);
		if (ret_message->kind == ZYGOTE_RUN && count == RUN_FD_COUNT)
			return;
		/* A kill that came too late. */
		close_all(ret_fds, count);
	}
}

int runner_serve(struct runner *runner)
{
	const struct zygote_message ready = { .kind = ZYGOTE_READY };
	int control_fd = runner->job.passed_fds[WASM_HAND_REPORT];
	int status;

	/* A thread would be missing in the children, with whatever lock it held. */
	if (!is_alone() || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    fd_send(control_fd, &ready, sizeof(ready), NULL, 0) < 0)
		return -1;
	do {
		struct zygote_message message;
		int fds[ZYGOTE_FDS_MAX];

		await_run(control_fd, &message, fds);
		status = serve_one(runner, &message, fds);
	} while (status == 0);
	return status < 0 ? -1 : 0;
}
