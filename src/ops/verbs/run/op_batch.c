/* SPDX-License-Identifier: Apache-2.0 */
/* `run --batch`: JSON lines in, JSON lines out. */
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/units.h"
#include "app/batch/batch.h"
#include "ops/rows/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* As that of one run whose time is over. */
#define EXIT_LATE 124

static int take_answer(const struct str *line, void *cookie, struct error *err)
{
	struct op_call *call = cookie;

	str_add_bytes(&call->data, line->data, line->len);
	return call->pass_on ? call->pass_on(call, err) : 0;
}

/* The descriptor of the caller's own that NAME stands for, as a shell writes <(...); -1: none. */
static int own_descriptor(const char *name)
{
	static const char *const places[] = { "/dev/fd/", "/proc/self/fd/" };
	struct error ignored = { 0 };
	int64_t fd;

	if (strcmp(name, "-") == 0 || strcmp(name, "/dev/stdin") == 0)
		return STDIN_FILENO;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (str_starts(name, places[i]) &&
		    units_count(name, name + strlen(places[i]), 0, INT_MAX, &fd, &ignored) == 0)
			return (int)fd;
	}
	return -1;
}

/* What the caller has open may be a pipe; a file found by its name could be one that was planted there. */
static int open_lines(const char *name, int *ret_fd, struct error *err)
{
	int own = own_descriptor(name);

	*ret_fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 3) : file_open(AT_FDCWD, name, 0, NULL);
	if (*ret_fd < 0 && file_is_other_kind(errno))
		return error_advise(err, ERROR_USAGE, "pipe the lines in and write -",
				    "--batch %s: not a regular file", name);
	if (*ret_fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_USAGE,
				   "--batch %s", name);
	return 0;
}

static int check_words(const struct op_call *call, struct error *err)
{
	if (call->command.count > 0)
		return error_advise(err, ERROR_USAGE, "leave out what stands behind --",
				    "with --batch each line brings its own command");
	if (op_arg_text(call, "keep"))
		return error_set(
			err, ERROR_USAGE,
			"--batch and --keep contradict: the runs of a batch leave nothing");
	return 0;
}

int op_batch_run(struct op_call *call, struct error *err)
{
	const char *jobs = op_arg_text(call, "jobs"), *time = op_arg_text(call, "batch-time");
	owned(request_done) struct request request;
	owned(fd_close) int fd = -1;
	enum batch_end end = BATCH_SOME_RAN;
	int64_t count = 0, time_ms = 0;

	request_init(&request);
	if (check_words(call, err) < 0 || op_request(call, &request, err) < 0 ||
	    (jobs && units_count("--jobs", jobs, 1, BATCH_JOBS_MAX, &count, err) < 0) ||
	    (time && units_duration("--batch-time", time, &time_ms, err) < 0) ||
	    open_lines(op_arg_text(call, "batch"), &fd, err) < 0)
		return -1;
	const struct app_batch batch = { .fd = fd,
					 .jobs = (unsigned)count,
					 .base = &request,
					 .time_ms = time_ms,
					 .list_changes = op_arg_switch(call, "name-status"),
					 .uses_daemon = !op_arg_switch(call, "no-daemon"),
					 .out_fd = call->pass_on ? STDOUT_FILENO : -1,
					 .answer = take_answer,
					 .cookie = call };

	/* Lines are data, with --json or without. */
	call->json = true;
	request.interactive = false;
	if (app_batch(&batch, &end, err) < 0)
		return -1;
	call->exit_status = end == BATCH_ALL_RAN ? 0 : end == BATCH_LATE ? EXIT_LATE : 1;
	return 0;
}
