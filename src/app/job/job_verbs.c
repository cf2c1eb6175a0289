/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs looked at, paused, removed, run by hand. */
#include "app/job/job_parts.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define REMOVED ".old"

static void fill(const struct job_place *place, struct value *row)
{
	uint64_t now_ms = clock_epoch_ms(), next_ms = job_next_ms(place, now_ms);
	const struct value *runs = value_get(place->state, "runs");
	const struct value *last =
		runs && runs->kind == VALUE_LIST && runs->many.count ? runs->many.items[0] : NULL;
	const char *waits = job_waits(place, now_ms);
	owned(str_done) struct str when = STR_INIT;
	char next[32];

	job_describe_when(&place->job, &when);
	time_format_utc(next_ms, next);
	value_add(row, "when", value_new_text(when.len ? str_cstr(&when) : "job run"));
	value_add(row, "state",
		  value_new_text(job_is_running(place) ? "running"
				 : waits	       ? waits
						       : "waiting"));
	value_add(row, "last", value_new_text(last ? value_get_text(last, "started") : NULL));
	value_add(row, "result", value_new_text(last ? value_get_text(last, "result") : NULL));
	value_add(row, "next", value_new_text(next_ms && !place->is_paused ? next : NULL));
	value_add(row, "workspace", value_new_text(place->workspace));
}

int app_job_list(const char *const *env, struct value **ret_list, struct error *err)
{
	owned(job_dirs_close) struct job_dirs dirs = { -1, -1, NULL };
	owned(strv_done) struct strv names = STRV_INIT;

	if (job_dirs_open(&dirs, env, err) < 0 || job_dirs_list(&dirs, &names, err) < 0)
		return -1;
	*ret_list = value_new_list();
	for (size_t i = 0; i < names.count; i++) {
		struct value *row = value_append(*ret_list, value_new_map());
		struct job_place place;
		struct error why;

		value_add(row, "name", value_new_text(names.items[i]));
		if (job_open(&place, &dirs, names.items[i], false, env, &why) == 0)
			fill(&place, row);
		else
			value_add(row, "state", value_new_text(why.text));
		job_close(&place);
	}
	return 0;
}

int app_job_show(const char *name, const char *const *env, struct value **ret_answer,
		 struct error *err)
{
	static const char *const policies[] = { "never", "ask", "gates" };
	owned(job_dirs_close) struct job_dirs dirs = { -1, -1, NULL };
	owned(job_close) struct job_place place = { .dir_fd = -1 };
	const struct value *running;
	struct value *runs;

	if (job_dirs_open(&dirs, env, err) < 0 ||
	    job_open(&place, &dirs, name, false, env, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "name", value_new_text(name));
	fill(&place, *ret_answer);
	running = job_is_running(&place) ? value_get(place.state, "running") : NULL;
	if (running)
		value_add(*ret_answer, "pid", value_new_int(value_int_of(running, "pid")));
	value_add(*ret_answer, "promote", value_new_text(policies[place.job.promote]));
	value_add(*ret_answer, "text", value_new_text(str_cstr(&place.text)));
	runs = value_take(place.state, "runs");
	value_add(*ret_answer, "runs", runs ? runs : value_new_list());
	return 0;
}

int app_job_pause(const char *name, bool is_paused, const char *const *env, struct error *err)
{
	owned(job_dirs_close) struct job_dirs dirs = { -1, -1, NULL };
	owned(job_close) struct job_place place = { .dir_fd = -1 };
	owned(fd_close) int fd = -1;

	if (job_dirs_open(&dirs, env, err) < 0 ||
	    job_open(&place, &dirs, name, false, env, err) < 0)
		return -1;
	if (is_paused)
		fd = openat(place.dir_fd, JOB_PAUSED, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	else if (unlinkat(place.dir_fd, JOB_PAUSED, 0) < 0 && errno != ENOENT)
		return error_errno(err, ERROR_HOST, "job %s", name);
	return is_paused && fd < 0 ? error_errno(err, ERROR_HOST, "job %s", name) : 0;
}

/* One that cannot be read can be removed all the same. */
int app_job_remove(const char *name, const char *const *env, struct error *err)
{
	owned(job_dirs_close) struct job_dirs dirs = { -1, -1, NULL };
	owned(job_close) struct job_place place = { .dir_fd = -1 };
	owned(free_ptr) char *record = xasprintf("%s.json", name);
	owned(fd_close) int lock_fd = -1;

	if (job_dirs_open(&dirs, env, err) < 0)
		return -1;
	if (job_open(&place, &dirs, name, true, env, err) < 0 &&
	    (err->code == ERROR_NOT_FOUND || err->code == ERROR_CONFLICT))
		return -1;
	if (place.state && job_recover(&place, err) < 0)
		return -1;
	lock_fd = openat(dirs.config_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock_fd < 0 || flock(lock_fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "the directory of jobs");
	(void)tree_remove(dirs.config_fd, REMOVED);
	if (renameat(dirs.config_fd, name, dirs.config_fd, REMOVED) < 0 ||
	    fsync(dirs.config_fd) < 0)
		return error_errno(err, ERROR_HOST, "job %s", name);
	(void)unlinkat(dirs.state_fd, record, 0);
	(void)tree_remove(dirs.config_fd, REMOVED);
	return 0;
}

int app_job_run(const char *name, bool is_forced, const char *const *env, struct value **ret_answer,
		bool *ret_pass, struct error *err)
{
	owned(job_dirs_close) struct job_dirs dirs = { -1, -1, NULL };
	owned(job_close) struct job_place place = { .dir_fd = -1 };
	struct job_turn turn = { 0 };
	int status;

	str_add(&turn.why, "aisbx job run");
	status = job_dirs_open(&dirs, env, err) < 0 ||
				 job_open(&place, &dirs, name, true, env, err) < 0 ||
				 job_recover(&place, err) < 0 ||
				 job_perform(&place, &turn, is_forced, ret_answer, err) < 0
			 ? -1
			 : 0;
	job_turn_done(&turn);
	if (status == 0)
		*ret_pass = !str_same(value_get_text(*ret_answer, "result"), "fail") &&
			    !str_same(value_get_text(*ret_answer, "result"), "stopped");
	return status;
}
