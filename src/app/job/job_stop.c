/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of a job that is ended before its time: marked, then signalled.
 *
 * The mark is a file in the job's directory with the number of the process that is to end: whatever that one still does, and
 * whichever process finds its remains, the record says that it was stopped; a run that begins meanwhile is not meant.
 * A run that promotes says so on record and looks for the mark; a stop leaves the mark and looks at the record. One of them
 * sees the other: a promotion is never ended halfway, and none begins behind a stop.
 */
#include "app/job/job_parts.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK "stopped"
#define LOOK_MS 20
/* Longer than the grace that a command has by default; and what the kernel needs to end a process. */
#define TERM_MS 4000
#define KILL_MS 30000
#define RECORD_MS 30000
#define PROMOTE_MS 60000

struct job_run_id {
	pid_t pid;
	uint64_t began;
};

void job_unmark_stopped(const struct job_place *place)
{
	(void)unlinkat(place->dir_fd, MARK, 0);
}

bool job_is_stopped(const struct job_place *place, int64_t pid)
{
	char text[32];

	return file_read_small(place->dir_fd, MARK, text, sizeof(text)) > 0 &&
	       strtoll(text, NULL, 10) == pid;
}

bool job_may_not_promote(struct job_place *place)
{
	struct error ignored;

	value_set(value_get(place->state, "running"), "promotes", value_new_bool(true));
	return job_save(place, &ignored) < 0 || job_is_stopped(place, getpid());
}

static int leave_mark(const struct job_place *place, pid_t pid, struct error *err)
{
	owned(fd_close) int fd =
		openat(place->dir_fd, MARK,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	char text[32];

	(void)snprintf(text, sizeof(text), "%d\n", (int)pid);
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		return error_errno(err, ERROR_HOST, "job %s: stop", place->name);
	return 0;
}

/* The record may be a dead run's whose number another process has by now: that one began at another time. */
static bool is_run(const struct job_place *place, pid_t pid, uint64_t began)
{
	const struct value *running = value_get(place->state, "running");

	return running && began && value_int_of(running, "pid") == pid &&
	       (uint64_t)value_int_of(running, "began") == began;
}

/* The process of the run under way, by a descriptor, with its mark. One that has only just begun is not on record yet. */
static int find_run(const struct job_dirs *dirs, const char *name, const char *const *env,
		    struct job_run_id *ret_run, struct error *err)
{
	for (unsigned waited = 0; waited < RECORD_MS; waited += LOOK_MS) {
		owned(job_close) struct job_place place = { .dir_fd = -1 };
		owned(fd_close) int pid_fd = -1;
		const struct value *running;

		if (job_open(&place, dirs, name, false, env, err) < 0)
			return -1;
		if (!job_is_running(&place)) {
			error_set(err, ERROR_CONFLICT, "the job %s is not running", name);
			return error_add_hint(err, "aisbx job pause %s keeps it from being run",
					      name);
		}
		running = value_get(place.state, "running");
		ret_run->pid = running ? (pid_t)value_int_of(running, "pid") : 0;
		pid_fd = ret_run->pid > 1 ? child_open(ret_run->pid) : -1;
		ret_run->began = pid_fd >= 0 ? process_began(ret_run->pid) : 0;
		if (is_run(&place, ret_run->pid, ret_run->began))
			return leave_mark(&place, ret_run->pid, err) < 0 ? -1 : fd_take(&pid_fd);
		(void)poll(NULL, 0, LOOK_MS);
	}
	error_set(err, ERROR_CONFLICT, "the run of the job %s is not on record", name);
	return error_add_hint(err, "aisbx job show %s has its pid: kill PID ends it", name);
}

static bool is_promoting(const struct job_dirs *dirs, const char *name, const char *const *env,
			 const struct job_run_id *run)
{
	owned(job_close) struct job_place place = { .dir_fd = -1 };
	struct error ignored;

	return job_open(&place, dirs, name, false, env, &ignored) == 0 &&
	       is_run(&place, run->pid, run->began) &&
	       value_is_true(value_get(place.state, "running"), "promotes");
}

static int await_promotion(int pid_fd, const char *name, struct error *err)
{
	if (fd_wait(pid_fd, POLLIN, PROMOTE_MS) > 0)
		return 0;
	error_set(err, ERROR_CONFLICT, "the job %s is promoting, which is not ended halfway", name);
	return error_add_hint(err, "aisbx job show %s has the promotion then: aisbx undo ID", name);
}

static int end_run(int pid_fd, const char *name, struct error *err)
{
	(void)child_signal(pid_fd, SIGTERM);
	if (fd_wait(pid_fd, POLLIN, TERM_MS) > 0)
		return 0;
	(void)child_signal(pid_fd, SIGKILL);
	return fd_wait(pid_fd, POLLIN, KILL_MS) > 0
		       ? 0
		       : error_set(err, ERROR_HOST, "the run of the job %s does not end", name);
}

/* Its row. What the run did not come to itself is done here, or by a scheduler that has the lock meanwhile. */
static int settle(const struct job_dirs *dirs, const char *name, const char *const *env,
		  const struct job_run_id *run, struct value **ret_row, struct error *err)
{
	for (;; (void)poll(NULL, 0, LOOK_MS)) {
		owned(job_close) struct job_place place = { .dir_fd = -1 };
		owned(value_release) struct value *runs = NULL;

		if (job_open(&place, dirs, name, true, env, err) == 0) {
			if (job_recover(&place, err) < 0)
				return -1;
		} else if (err->code != ERROR_CONFLICT) {
			return -1;
		} else {
			job_close(&place);
			if (job_open(&place, dirs, name, false, env, err) < 0)
				return -1;
		}
		if (is_run(&place, run->pid, run->began))
			continue;
		runs = value_take(place.state, "runs");
		*ret_row = runs && runs->many.count > 0 ? runs->many.items[0] : value_new_map();
		if (runs && runs->many.count > 0)
			runs->many.items[0] = value_new_null();
		return 0;
	}
}

int app_job_stop(const char *name, const char *const *env, struct value **ret_row,
		 struct error *err)
{
	owned(job_dirs_close) struct job_dirs dirs = { -1, -1, NULL };
	owned(fd_close) int pid_fd = -1;
	struct job_run_id run = { 0 };

	if (job_dirs_open(&dirs, env, err) < 0 ||
	    (pid_fd = find_run(&dirs, name, env, &run, err)) < 0 ||
	    (is_promoting(&dirs, name, env, &run) ? await_promotion(pid_fd, name, err)
						  : end_run(pid_fd, name, err)) < 0)
		return -1;
	return settle(&dirs, name, env, &run, ret_row, err);
}
