/* SPDX-License-Identifier: Apache-2.0 */
/* A job on disk: its directory, its record, its lock. */
#include "app/job/job_parts.h"

#include "app/config/own_list.h"
#include "app/config/profile_load.h"
#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "host/host.h"
#include "workspace/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 10
#define LOCK_PAUSE_NS 10000000

/* What others may write is nothing to act upon. */
static int open_own(const char *path, int *ret_fd, struct error *err)
{
	struct stat st;

	if (dir_make_all(path) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0 || fstat(*ret_fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return error_advise(err, ERROR_DENIED, "chown it to you, chmod go-w",
				    "%s: others may write there", path);
	return 0;
}

int job_dirs_open(struct job_dirs *dirs, const char *const *env, struct error *err)
{
	owned(free_ptr) char *config = NULL, *state = NULL, *own = app_config_dir(env);
	owned(host_done) struct host host = { 0 };

	*dirs = (struct job_dirs){ -1, -1, NULL };
	if (!own)
		return error_set(err, ERROR_HOST, "HOME is not set: jobs are in ~/.config/aisbx");
	if (host_read_caller(&host, err) < 0)
		return -1;
	config = xasprintf("%s/jobs", own);
	state = xasprintf("%s/jobs", host.state_dir);
	if (open_own(config, &dirs->config_fd, err) < 0 ||
	    open_own(state, &dirs->state_fd, err) < 0)
		return -1;
	dirs->config_dir = path_real(own);
	return 0;
}

void job_dirs_close(struct job_dirs *dirs)
{
	fd_close(&dirs->config_fd);
	fd_close(&dirs->state_fd);
	free_ptr(&dirs->config_dir);
}

int job_dirs_list(const struct job_dirs *dirs, struct strv *ret_names, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(dirs->config_fd, ".");
	struct dirent *entry;
	int got;

	while ((got = dir_next(dir, &entry)) > 0) {
		if (job_is_name(entry->d_name))
			strv_add(ret_names, entry->d_name);
	}
	strv_sort(ret_names);
	return got < 0 ? error_errno(err, ERROR_HOST, "the directory of jobs") : 0;
}

static int not_found(const char *name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_advise(err, ERROR_NOT_FOUND, "aisbx job ls lists them", "no job '%s'",
			    str_shown(name, shown));
}

/* A look at whether it runs has the lock for a moment, too: that is waited for. */
static int take_lock(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	for (unsigned tries = 0;; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK || tries == LOCK_TRIES)
			return -1;
		(void)nanosleep(&pause, NULL);
	}
}

/* The lock is the directory's own, which may have been replaced before we had it. */
static int lock(const struct job_place *place, struct error *err)
{
	struct stat mine, there;

	if (take_lock(place->dir_fd) < 0) {
		if (errno != EWOULDBLOCK)
			return error_errno(err, ERROR_HOST, "job %s", place->name);
		error_set(err, ERROR_CONFLICT, "the job %s is running", place->name);
		return error_add_hint(err, "aisbx job stop %s ends it", place->name);
	}
	if (fstat(place->dir_fd, &mine) < 0 ||
	    fstatat(place->dirs->config_fd, place->name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	    mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
		return not_found(place->name, err);
	return 0;
}

static int read_own(const struct job_place *place, const char *file, struct str *ret_text,
		    struct error *err)
{
	if (own_list_read(place->dir_fd, file, ret_text) < 0)
		return error_errno(err, ERROR_HOST, "job %s: %s", place->name, file);
	if (ret_text->len == 0)
		return error_set(err, ERROR_INPUT, "job %s: no %s", place->name, file);
	return 0;
}

static int read_files(struct job_place *place, struct error *err)
{
	owned(free_ptr) char *origin = xasprintf("job %s: %s", place->name, JOB_FILE);
	owned(str_done) struct str where = STR_INIT;
	struct job *job = &place->job;

	if (read_own(place, JOB_FILE, &place->text, err) < 0 ||
	    job_read(str_cstr(&place->text), place->text.len, origin, job, err) < 0 ||
	    read_own(place, JOB_PLACE, &where, err) < 0)
		return -1;
	if ((job->race || job->task) &&
	    read_own(place, job->race ? JOB_RACE : JOB_TASK, &place->more, err) < 0)
		return -1;
	if (job->task) {
		value_free(ptr_take(&job->work));
		if (json_read(str_cstr(&place->more), place->more.len, NULL, &job->work, err) < 0)
			return error_context(err, "job %s: %s", place->name, JOB_TASK);
	}
	/* It was resolved when the job was added. */
	value_free(value_take(job->work, "workspace"));
	place->workspace = xstrdup(str_cstr(&where));
	place->is_paused = faccessat(place->dir_fd, JOB_PAUSED, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return 0;
}

static bool is_kind(const struct value *state, const char *key, enum value_kind kind)
{
	const struct value *item = value_get(state, key);

	return !item || item->kind == kind;
}

static bool is_whole(const struct value *state)
{
	const struct value *slots, *runs;
	bool is_good = state->kind == VALUE_MAP && value_int_of(state, "added_ms") > 0 &&
		       is_kind(state, "slots", VALUE_MAP) && is_kind(state, "runs", VALUE_LIST) &&
		       is_kind(state, "running", VALUE_MAP);

	slots = is_good ? value_get(state, "slots") : NULL;
	runs = is_good ? value_get(state, "runs") : NULL;
	for (size_t i = 0; slots && i < slots->many.count; i++)
		is_good &= slots->many.items[i]->kind == VALUE_TEXT;
	for (size_t i = 0; runs && i < runs->many.count; i++)
		is_good &= runs->many.items[i]->kind == VALUE_MAP &&
			   value_get_text(runs->many.items[i], "result");
	return is_good;
}

/* A record that cannot be read could have the slot that is due now: nothing is run by it. */
static int read_state(struct job_place *place, struct error *err)
{
	owned(free_ptr) char *file = xasprintf("%s.json", place->name);
	owned(str_done) struct str text = STR_INIT;

	if (faccessat(place->dirs->state_fd, file, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT) {
		place->state = value_new_map();
		value_add(place->state, "added_ms", value_new_int((int64_t)clock_epoch_ms()));
		return 0;
	}
	if (own_list_read(place->dirs->state_fd, file, &text) < 0)
		return error_errno(err, ERROR_HOST, "job %s: its record", place->name);
	if (json_read(str_cstr(&text), text.len, NULL, &place->state, err) == 0 &&
	    is_whole(place->state))
		return 0;
	error_set(err, ERROR_INPUT, "job %s: its record is damaged", place->name);
	return error_add_hint(err, "aisbx job rm %s, and add it again", place->name);
}

int job_open(struct job_place *place, const struct job_dirs *dirs, const char *name, bool locks,
	     const char *const *env, struct error *err)
{
	*place =
		(struct job_place){ .dirs = dirs, .env = env, .dir_fd = -1, .name = xstrdup(name) };
	job_init(&place->job);
	place->owner = xasprintf("job %s", name);
	if (!job_is_name(name))
		return not_found(name, err);
	place->dir_fd =
		openat(dirs->config_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place->dir_fd < 0)
		return errno == ENOENT ? not_found(name, err)
				       : error_errno(err, ERROR_HOST, "job %s", name);
	if (locks && lock(place, err) < 0)
		return -1;
	return read_files(place, err) < 0 || read_state(place, err) < 0 ? -1 : 0;
}

void job_close(struct job_place *place)
{
	fd_close(&place->dir_fd);
	free(place->name);
	free(place->owner);
	free(place->workspace);
	str_done(&place->text);
	str_done(&place->more);
	job_done(&place->job);
	value_free(place->state);
}

bool job_is_running(const struct job_place *place)
{
	owned(fd_close) int fd = openat(place->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int job_save(const struct job_place *place, struct error *err)
{
	owned(free_ptr) char *file = xasprintf("%s.json", place->name);
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, place->state, 0);
	return store_replace(place->dirs->state_fd, file, text.data, text.len, true, err);
}

struct app_task job_as_task(const struct job_place *place)
{
	return (struct app_task){ .tree = place->job.work,
				  .origin = place->owner,
				  .environ = place->env,
				  .owner = place->owner,
				  .workspace = place->workspace };
}
