/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: looks at all jobs when a clock or a change says so, and starts a process for each one that is due. */
#include "app/job/job_parts.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"

#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define RUNNING_MAX 4
#define LOOK_MS 30000
#define SETTLE_MS 500
#define NS_PER_MS UINT64_C(1000000)

struct running {
	pid_t pid;
	int pid_fd;
	char *name;
};

struct schedule {
	const char *const *env;
	const struct job_reporter *reporter;
	struct job_dirs dirs;
	struct job_watches watches;
	struct running running[RUNNING_MAX];
	size_t count;
	struct strv reported; /* faults of the last look: each is reported once */
	struct strv held;     /* jobs that could not be run: not before the next turn of LOOK_MS */
	uint64_t next_ms;     /* when a clock makes the first job due, since the epoch; 0: never */
	uint64_t files_ns;    /* when files were looked at */
	uint64_t changes_ns;  /* and not before this again, whatever changes */
	bool has_changed;
};

static void report_job(const struct schedule *schedule, const char *name, const char *what)
{
	owned(free_ptr) char *line = xasprintf("job %s: %s", name, what);

	schedule->reporter->report(schedule->reporter->cookie, line);
}

/* In a process of its own, under the lock: looks once more, and runs. */
static int run_due(const struct schedule *schedule, const char *name, struct error *err)
{
	struct job_watches none = { .fd = -1 };
	owned(value_release) struct value *row = NULL;
	owned(job_close) struct job_place place = { .dir_fd = -1 };
	struct job_turn turn = { 0 };
	uint64_t now_ms = clock_epoch_ms();
	bool is_new = false;
	int status;

	status = job_open(&place, &schedule->dirs, name, true, schedule->env, err);
	if (status == 0)
		status = job_recover(&place, err);
	if (status == 0)
		status = job_due(&place, now_ms, &none, &turn, &is_new, err);
	if (status == 0 && is_new)
		status = job_save(&place, err);
	if (status == 0 && turn.slots && !job_waits(&place, now_ms)) {
		status = job_perform(&place, &turn, false, &row, err);
		if (status == 0 && !str_same(value_get_text(row, "result"), "unchanged"))
			report_job(schedule, name, value_get_text(row, "result"));
	}
	job_turn_done(&turn);
	return status;
}

/* It goes on when the scheduler ends, and is done then. */
static void start(struct schedule *schedule, const char *name)
{
	struct running *slot = &schedule->running[schedule->count];
	struct error err;
	pid_t pid = child_fork(CHILD_ALONE, 0, NULL, &err);

	if (pid < 0) {
		report_job(schedule, name, err.text);
		return;
	}
	if (pid == 0) {
		fd_close(&schedule->watches.fd);
		(void)setsid();
		if (run_due(schedule, name, &err) == 0)
			_exit(0);
		/* Another scheduler has it. */
		if (err.code != ERROR_CONFLICT)
			report_job(schedule, name, err.text);
		_exit(1);
	}
	*slot = (struct running){ .pid = pid, .pid_fd = child_open(pid), .name = xstrdup(name) };
	schedule->count++;
}

static void reap(struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->count;) {
		struct running *one = &schedule->running[i];

		if (fd_wait(one->pid_fd, POLLIN, 0) == 0) {
			i++;
			continue;
		}
		if (child_wait(one->pid) != 0)
			strv_add(&schedule->held, one->name);
		fd_close(&one->pid_fd);
		free(one->name);
		*one = schedule->running[--schedule->count];
	}
}

static bool is_started(const struct schedule *schedule, const char *name)
{
	for (size_t i = 0; i < schedule->count; i++) {
		if (strcmp(schedule->running[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Whether something is to be done for the job: it is due, or a killed run left something. */
static int look_at(struct schedule *schedule, const char *name, struct job_watches *watches,
		   bool *ret_starts, struct error *err)
{
	owned(job_close) struct job_place place = { .dir_fd = -1 };
	struct job_turn turn = { 0 };
	uint64_t now_ms = clock_epoch_ms(), next_ms;
	bool is_new = false;
	int status;

	if (job_open(&place, &schedule->dirs, name, false, schedule->env, err) < 0)
		return -1;
	status = job_due(&place, now_ms, watches, &turn, &is_new, err);
	next_ms = job_next_ms(&place, now_ms);
	if (next_ms && (!schedule->next_ms || next_ms < schedule->next_ms))
		schedule->next_ms = next_ms;
	*ret_starts = !job_is_running(&place) &&
		      (value_get(place.state, "running") || value_get(place.state, "unswept") ||
		       is_new || (turn.slots && !job_waits(&place, now_ms)));
	job_turn_done(&turn);
	return status;
}

/* One line for each fault, when it begins. */
static void report_fault(const struct schedule *schedule, const char *name, const struct error *err,
			 struct strv *reported)
{
	owned(free_ptr) char *line = xasprintf("%s: %s", name, err->text);

	if (!strv_has(&schedule->reported, line))
		report_job(schedule, name, err->text);
	strv_add(reported, line);
}

/* What is watched is what was there: it is watched anew with each look, and before it is looked at. */
static void watch_anew(struct schedule *schedule, struct job_watches *ret_watches)
{
	*ret_watches = (struct job_watches){ .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK) };
	ret_watches->is_cut = ret_watches->fd < 0;
	if (schedule->dirs.config_dir) {
		owned(free_ptr) char *jobs = xasprintf("%s/jobs", schedule->dirs.config_dir);

		job_watch_directory(ret_watches, jobs);
	}
}

static void look(struct schedule *schedule, bool at_files)
{
	owned(strv_done) struct strv names = STRV_INIT;
	struct strv reported = STRV_INIT;
	struct job_watches watches;
	uint64_t began_ns = clock_now_ns();
	struct error err;

	schedule->next_ms = 0;
	if (at_files)
		watch_anew(schedule, &watches);
	if (job_dirs_list(&schedule->dirs, &names, &err) < 0)
		report_fault(schedule, "ls", &err, &reported);
	for (size_t i = 0; i < names.count; i++) {
		bool starts = false;

		if (look_at(schedule, names.items[i], at_files ? &watches : NULL, &starts, &err) <
		    0)
			report_fault(schedule, names.items[i], &err, &reported);
		if (starts && schedule->count < RUNNING_MAX &&
		    !is_started(schedule, names.items[i]) &&
		    !strv_has(&schedule->held, names.items[i]))
			start(schedule, names.items[i]);
	}
	strv_done(&schedule->reported);
	schedule->reported = reported;
	if (at_files) {
		fd_close(&schedule->watches.fd);
		schedule->watches = watches;
		/* A tree that is large or changes all the time is looked at for a tenth of it. */
		schedule->changes_ns =
			clock_now_ns() + 10 * (clock_now_ns() - began_ns) + SETTLE_MS * NS_PER_MS;
	}
}

static int ms_until(uint64_t then_ns)
{
	uint64_t now_ns = clock_now_ns();

	return then_ns > now_ns ? (int)((then_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* Until a clock, a change, the end of a run; and never for long, because clocks are set and machines sleep. */
static void wait_for_more(struct schedule *schedule)
{
	struct pollfd polls[RUNNING_MAX + 1] = {
		{ .fd = schedule->has_changed ? -1 : schedule->watches.fd, .events = POLLIN }
	};
	uint64_t now_ms = clock_epoch_ms();
	int wait_ms = ms_until(schedule->files_ns + LOOK_MS * NS_PER_MS);

	if (schedule->next_ms && schedule->next_ms < now_ms + (uint64_t)wait_ms)
		wait_ms = schedule->next_ms > now_ms ? (int)(schedule->next_ms - now_ms) + 1 : 0;
	if (schedule->has_changed && ms_until(schedule->changes_ns) < wait_ms)
		wait_ms = ms_until(schedule->changes_ns);
	for (size_t i = 0; i < schedule->count; i++)
		polls[i + 1] =
			(struct pollfd){ .fd = schedule->running[i].pid_fd, .events = POLLIN };
	(void)poll(polls, schedule->count + 1, wait_ms);
	/* Editors write in several steps, and one look is enough for all of them. */
	if (polls[0].revents) {
		uint64_t settled_ns = clock_now_ns() + SETTLE_MS * NS_PER_MS;

		schedule->has_changed = true;
		if (schedule->changes_ns < settled_ns)
			schedule->changes_ns = settled_ns;
	}
}

int app_job_watch(const char *const *env, const struct job_reporter *reporter, struct error *err)
{
	struct schedule schedule = { .env = env, .reporter = reporter, .watches = { .fd = -1 } };

	if (job_dirs_open(&schedule.dirs, env, err) < 0) {
		job_dirs_close(&schedule.dirs);
		return -1;
	}
	for (bool at_files = true;; wait_for_more(&schedule)) {
		uint64_t now_ns = clock_now_ns();
		bool is_turn = now_ns - schedule.files_ns >= LOOK_MS * NS_PER_MS;

		at_files |= now_ns >= schedule.changes_ns && (is_turn || schedule.has_changed);
		reap(&schedule);
		if (at_files) {
			schedule.files_ns = now_ns;
			schedule.has_changed = false;
			if (is_turn)
				strv_done(&schedule.held);
		}
		look(&schedule, at_files);
		at_files = false;
	}
}
