/* SPDX-License-Identifier: Apache-2.0 */
/* Starting commands for `bench` and timing them from spawn to reap. */
#include "base/process/child.h"
#include "base/core/env.h"
#include "base/file/fd.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "app/doctor/bench_parts.h"
#include "spec/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define KEPT_BYTES ((size_t)1 << 20)
#define PATIENCE_MS 120000

static double now_ms(void)
{
	return (double)clock_now_ns() / 1e6;
}

/* Memory files instead of pipes: no reader is needed, so the clock sees the command alone. */
static int make_stream(const char *name, int *ret_fd, struct error *err)
{
	*ret_fd = memfd_create(name, MFD_CLOEXEC);
	if (*ret_fd < 0)
		return error_errno(err, ERROR_HOST, "memory file for a command's output");
	return 0;
}

static void keep_stream(int fd, struct str *ret_text)
{
	char *bytes = xmalloc(KEPT_BYTES);
	ssize_t len = pread(fd, bytes, KEPT_BYTES, 0);

	if (len > 0)
		str_add_bytes(ret_text, bytes, (size_t)len);
	free(bytes);
}

static int spawn_in_workspace(const struct bench *bench, char *const *argv, const int *streams,
			      pid_t *ret_pid)
{
	owned(fd_close) int left_open = open(bench->outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	posix_spawn_file_actions_t actions;
	int failed;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, streams[0], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, streams[1], STDERR_FILENO);
	if (left_open >= 0)
		posix_spawn_file_actions_adddup2(&actions, left_open, BENCH_LEFT_OPEN);
	posix_spawn_file_actions_addchdir_np(&actions, bench->work);
	/* The environment goes on unchanged; the interface merely predates const. */
	failed = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv,
			      (char *const *)(uintptr_t)bench->options->environ);
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

/* Waits for the end; a command that takes too long is killed. */
static void reap(pid_t pid, struct bench_done *done)
{
	int status;

	done->timed_out = !child_wait_within(pid, PATIENCE_MS, &status);
	done->exit_code = child_exit_code(status);
}

int bench_exec(const struct bench *bench, char *const *argv, struct bench_done *ret_done,
	       struct error *err)
{
	owned(fd_close) int out = -1, error_out = -1;
	struct bench_done done = { .out = STR_INIT, .err = STR_INIT };
	double began;
	pid_t pid;
	int failed;

	if (make_stream("bench-out", &out, err) < 0 ||
	    make_stream("bench-err", &error_out, err) < 0)
		return -1;
	began = now_ms();
	failed = spawn_in_workspace(bench, argv, (int[]){ out, error_out }, &pid);
	if (failed) {
		errno = failed;
		return error_errno(err, ERROR_HOST, "starting %s", argv[0]);
	}
	reap(pid, &done);
	done.ms = now_ms() - began;
	keep_stream(out, &done.out);
	keep_stream(error_out, &done.err);
	*ret_done = done;
	return 0;
}

void bench_done_release(struct bench_done *done)
{
	str_done(&done->out);
	str_done(&done->err);
}

bool bench_has_tool(const struct bench *bench, const char *name)
{
	const char *given = env_get(bench->options->environ, "PATH");
	const char *at = given ? given : SETTINGS_PATH_DEFAULT;

	while (*at) {
		size_t len = strcspn(at, ":");
		owned(free_ptr) char *path = xasprintf("%.*s/%s", (int)len, at, name);

		if (access(path, X_OK) == 0)
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double bench_percentile(double *numbers, size_t count, double share)
{
	size_t at = (size_t)((double)count * share);

	if (count == 0)
		return 0;
	qsort(numbers, count, sizeof(numbers[0]), compare);
	return numbers[at < count ? at : count - 1];
}
