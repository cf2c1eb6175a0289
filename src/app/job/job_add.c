/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs added: the file is read, trusted, checked, and copied with all that it names; then it is the user's own. */
#include "app/job/job_parts.h"

#include "app/config/trust.h"
#include "app/prepare/plan_context.h"
#include "app/trial/gates.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/file/tree.h"
#include "base/text/yaml.h"
#include "decide/race/race.h"
#include "workspace/disk/target.h"
#include "workspace/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAFT ".new"

/* A job on its way in. */
struct adding {
	const struct job_dirs *dirs;
	char *path, *directory; /* of its file, resolved */
	char *name, *workspace;
	struct str text, more;
	char *more_path;
	struct job job;
	struct task task;
};

static void adding_done(struct adding *adding)
{
	free(adding->path);
	free(adding->directory);
	free(adding->name);
	free(adding->workspace);
	str_done(&adding->text);
	str_done(&adding->more);
	free(adding->more_path);
	job_done(&adding->job);
	task_done(&adding->task);
}

static char *beside(const struct adding *adding, const char *name)
{
	return *name == '/' ? xstrdup(name) : xasprintf("%s/%s", adding->directory, name);
}

static int read_file(struct adding *adding, const char *file, struct error *err)
{
	const char *name;

	adding->path = path_real(file);
	if (!adding->path)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", file);
	name = strrchr(adding->path, '/') + 1;
	adding->directory = xstrndup(adding->path, (size_t)(name - adding->path));
	if (file_read(AT_FDCWD, adding->path, YAML_MAX_BYTES, &adding->text, err) < 0 ||
	    job_read(str_cstr(&adding->text), adding->text.len, file, &adding->job, err) < 0)
		return -1;
	adding->name =
		adding->job.name ? xstrdup(adding->job.name) : xstrndup(name, strcspn(name, "."));
	if (!job_is_name(adding->name))
		return error_advise(err, ERROR_INPUT, "name: NAME, of a-z, 0-9, '.', '_' and '-'",
				    "%s: the file's name is none for a job", file);
	return 0;
}

/* What the race or task says, as it is now. */
static int read_more(struct adding *adding, struct error *err)
{
	const char *name = adding->job.race ? adding->job.race : adding->job.task;
	owned(race_plan_done) struct race_plan plan;

	race_plan_init(&plan);
	if (!name)
		return 0;
	owned(free_ptr) char *path = beside(adding, name);

	adding->more_path = path_real(path);
	if (!adding->more_path)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", path);
	if (file_read(AT_FDCWD, adding->more_path, YAML_MAX_BYTES, &adding->more, err) < 0)
		return -1;
	if (adding->job.race)
		return race_read(str_cstr(&adding->more), adding->more.len, name, &plan, err);
	value_free(ptr_take(&adding->job.work));
	return json_read(str_cstr(&adding->more), adding->more.len, NULL, &adding->job.work, err) <
			       0
		       ? error_context(err, "%s", name)
		       : 0;
}

/* Where it will work: as it says, else as a run from here would. */
static int find_workspace(struct adding *adding, const char *const *env, struct error *err)
{
	owned(plan_context_done) struct plan_context around = { 0 };
	struct request *request = &adding->task.request;
	struct stat st;

	if (request->workspace) {
		owned(free_ptr) char *path = beside(adding, request->workspace);

		free(request->workspace);
		request->workspace = ptr_take(&path);
	}
	request->environ = env;
	if (plan_context_read(request, &around, err) < 0)
		return -1;
	adding->workspace = around.paths.workspace ? path_real(around.paths.workspace) : NULL;
	if (!adding->workspace || stat(adding->workspace, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_advise(err, ERROR_INPUT,
				    "say workspace: DIRECTORY, or add it from there",
				    "job %s: there is no workspace for it here", adding->name);
	return 0;
}

/* What is refused tonight is better refused now. */
static int check_work(struct adding *adding, struct error *err)
{
	const char *profile;

	if (task_read(adding->job.work, adding->path, &adding->task, err) < 0 ||
	    app_gates_check_words(&adding->task.gates, err) < 0)
		return -1;
	profile = adding->task.request.profile;
	if (profile && strchr(profile, '/'))
		return error_advise(err, ERROR_DENIED, "put it into ~/.config/aisbx/profiles",
				    "job %s: a job's profile is one of your own, by its name",
				    adding->name);
	if (adding->job.promote == JOB_PROMOTE_GATES && adding->task.gates.count == 0)
		return error_set(err, ERROR_INPUT, "job %s: 'promote: gates' without gates",
				 adding->name);
	return 0;
}

/* A file may be a sandbox's or a stranger's, and nothing that it says decides whether it is to be trusted. */
static int check_trust(const struct adding *adding, const char *path, const struct str *text,
		       struct error *err)
{
	const char *config_dir = adding->dirs->config_dir;

	if (config_dir && (target_relative(config_dir, path) ||
			   trust_has(config_dir, path, str_cstr(text), text->len)))
		return 0;
	error_set(err, ERROR_CONSENT, "%s is not trusted as it is now", path);
	return error_add_hint(err, "read it, then: aisbx profile trust %s", path);
}

static int fill(const struct adding *adding, int draft_fd, struct error *err)
{
	const struct job *job = &adding->job;

	if (store_replace(draft_fd, JOB_FILE, adding->text.data, adding->text.len, true, err) < 0 ||
	    store_replace(draft_fd, JOB_PLACE, adding->workspace, strlen(adding->workspace), true,
			  err) < 0)
		return -1;
	return !job->race && !job->task
		       ? 0
		       : store_replace(draft_fd, job->race ? JOB_RACE : JOB_TASK, adding->more.data,
				       adding->more.len, true, err);
}

/* It is there as a whole, or not at all. */
static int publish(const struct adding *adding, struct error *err)
{
	int dir_fd = adding->dirs->config_fd;
	owned(free_ptr) char *record = xasprintf("%s.json", adding->name);
	owned(fd_close) int lock_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned(fd_close) int draft_fd = -1;

	if (lock_fd < 0 || flock(lock_fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "the directory of jobs");
	if (faccessat(dir_fd, adding->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		error_set(err, ERROR_CONFLICT, "there is a job %s already", adding->name);
		return error_add_hint(err, "aisbx job rm %s", adding->name);
	}
	(void)tree_remove(dir_fd, DRAFT);
	if (mkdirat(dir_fd, DRAFT, 0700) < 0)
		return error_errno(err, ERROR_HOST, "%s", DRAFT);
	draft_fd = openat(dir_fd, DRAFT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (draft_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", DRAFT);
	if (fill(adding, draft_fd, err) < 0)
		return -1;
	/* Of an earlier job of this name. */
	if ((unlinkat(adding->dirs->state_fd, record, 0) < 0 && errno != ENOENT) ||
	    renameat(dir_fd, DRAFT, dir_fd, adding->name) < 0 || fsync(dir_fd) < 0)
		return error_errno(err, ERROR_HOST, "job %s", adding->name);
	return 0;
}

/* From now on: where everything stands is no reason to run. */
static int begin_record(const struct adding *adding, const char *const *env, struct error *err)
{
	struct job_watches none = { .fd = -1 };
	struct job_place place;
	struct job_turn turn = { 0 };
	bool is_new;
	int status;

	status = job_open(&place, adding->dirs, adding->name, true, env, err);
	if (status == 0)
		status = job_due(&place, (uint64_t)value_int_of(place.state, "added_ms"), &none,
				 &turn, &is_new, err);
	if (status == 0)
		status = job_save(&place, err);
	job_turn_done(&turn);
	job_close(&place);
	return status;
}

static int add(struct adding *adding, const char *file, const char *const *env, struct error *err)
{
	struct error why;

	if (read_file(adding, file, err) < 0 || read_more(adding, err) < 0 ||
	    check_work(adding, err) < 0 || find_workspace(adding, env, err) < 0 ||
	    check_trust(adding, adding->path, &adding->text, err) < 0)
		return -1;
	if (adding->more_path && check_trust(adding, adding->more_path, &adding->more, err) < 0)
		return -1;
	if (publish(adding, err) < 0)
		return -1;
	if (begin_record(adding, env, err) == 0)
		return 0;
	(void)app_job_remove(adding->name, env, &why);
	return -1;
}

int app_job_add(const char *file, const char *const *env, struct value **ret_answer,
		struct error *err)
{
	owned(job_dirs_close) struct job_dirs dirs = { -1, -1, NULL };
	struct adding adding = { .dirs = &dirs };
	int status;

	job_init(&adding.job);
	task_init(&adding.task);
	status = job_dirs_open(&dirs, env, err) < 0 ? -1 : add(&adding, file, env, err);
	if (status == 0)
		status = app_job_show(adding.name, env, ret_answer, err);
	adding_done(&adding);
	return status;
}

int app_job_trust(const char *file, const char *const *env, bool *ret_is_job,
		  struct value **ret_answer, struct error *err)
{
	static const char *const keys[] = { "every",  "at",	 "on_change",	  "on_commit",
					    "race",   "task",	 "on_run_failed", "attempts",
					    "script", "command", "intent" };
	owned(job_dirs_close) struct job_dirs dirs = { -1, -1, NULL };
	owned(free_ptr) char *path = path_real(file);
	owned(value_release) struct value *tree = NULL;
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;
	char hex[SHA256_HEX_SIZE];

	*ret_is_job = false;
	if (!path || file_read(AT_FDCWD, path, YAML_MAX_BYTES, &text, &ignored) < 0 ||
	    yaml_read(str_cstr(&text), text.len, file, YAML_TEXT, &tree, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		*ret_is_job |= value_get(tree, keys[i]) != NULL;
	if (!*ret_is_job)
		return 0;
	if (job_dirs_open(&dirs, env, err) < 0 ||
	    trust_add(dirs.config_dir, path, str_cstr(&text), text.len, err) < 0)
		return -1;
	sha256_hex(str_cstr(&text), text.len, hex);
	*ret_answer = value_new_map();
	value_add(*ret_answer, "path", value_new_text(path));
	value_add(*ret_answer, "sha256", value_new_text(hex));
	return 0;
}
