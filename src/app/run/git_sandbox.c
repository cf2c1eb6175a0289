/* SPDX-License-Identifier: Apache-2.0 */
/* Git in a throw-away sandbox, for objects that a sandbox wrote. */
#include "app/run/git_sandbox.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/run/run_request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PROBE_TIME "10s"
#define PROBE_MEM "1g"
#define PROBE_OUTPUT "16m"
#define OUTPUT_MAX ((size_t)16 << 20)
/* For the start and the end of the sandbox itself, on a machine that is busy. */
#define SLACK_MS 20000

static const char *const probe_environ[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C",
					     NULL };

static int set(struct request *request, const char *name, const char *value, struct error *err)
{
	return settings_set(&request->flags, setting_find(name), name, value, err);
}

static int run_once(const char *directory, const char *objects, const char *text, int to_fd,
		    struct error *err)
{
	const struct app_run_options options = { .capture = true, .is_own = true };
	owned(free_ptr) char *mount = xasprintf("%s:%s", objects, GIT_PROBE_OBJECTS);
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;

	run_result_init(&result);
	request_init(&request);
	request.environ = probe_environ;
	request.workspace = xstrdup(directory);
	strv_add_script(&request.command, text);
	if (set(&request, "net", "none", err) < 0 || set(&request, "time", PROBE_TIME, err) < 0 ||
	    set(&request, "mem", PROBE_MEM, err) < 0 ||
	    set(&request, "output", PROBE_OUTPUT, err) < 0 ||
	    (access(objects, F_OK) == 0 && set(&request, "ro", mount, err) < 0) ||
	    app_run(&request, &options, &result, err) < 0)
		return -1;
	if (result.status != RUN_SUCCESS || result.truncated)
		return error_set(err, ERROR_HOST, "git was stopped: %s",
				 run_status_name(result.status));
	return fd_write_all(to_fd, str_cstr(&result.out.kept), result.out.kept.len);
}

/* What the child prints, until it ends or its time is over. */
static int read_child(int fd, struct str *ret_output)
{
	uint64_t until_ns = clock_now_ns() + (GIT_PROBE_MS + SLACK_MS) * 1000000ull;
	char bytes[4096];

	for (;;) {
		ssize_t len;

		if (fd_wait_until(fd, POLLIN, until_ns) <= 0)
			return -1;
		len = read(fd, bytes, sizeof(bytes));
		if (len == 0)
			return 0;
		if (len < 0 && errno != EINTR)
			return -1;
		if (len > 0)
			str_add_bytes(ret_output, bytes, (size_t)len);
		if (ret_output->len > OUTPUT_MAX)
			return -1;
	}
}

int git_sandbox_run(const char *directory, const char *objects, const char *text,
		    struct str *ret_output, struct error *err)
{
	owned(fd_close) int from_fd = -1;
	/* Of its own, since a process that has started a sandbox is not fit to start another. */
	pid_t pid = child_fork(CHILD_WRITES, 0, &from_fd, err);
	int outcome;

	if (pid == 0) {
		struct error ignored = { 0 };

		_exit(run_once(directory, objects, text, from_fd, &ignored) < 0 ? 1 : 0);
	}
	if (pid < 0)
		return -1;
	outcome = read_child(from_fd, ret_output);
	if (outcome < 0)
		(void)kill(pid, SIGKILL);
	if (child_wait(pid) != 0 || outcome < 0)
		return error_set(err, ERROR_HOST, "git did not answer");
	return 0;
}
