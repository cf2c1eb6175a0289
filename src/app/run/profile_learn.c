/* SPDX-License-Identifier: Apache-2.0 */
/* `profile learn`: a profile that permits what a command was seen to call, and no more. */
#include "app/run/profile_learn.h"

#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/file/real_path.h"
#include "base/text/json_write.h"
#include "base/text/units.h"
#include "app/config/own_list.h"
#include "app/config/profile_load.h"
#include "app/run/run_request.h"
#include "confine/seccomp/seccomp_set.h"
#include "profile/path.h"
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* What the file begins with: only such a file is replaced. */
#define MARK "# Learned by aisbx profile learn"
#define NAME_MAX_LEN 48 /* own_list_replace makes a longer one of it */
#define LINE_WIDTH 78
#define MEM_LEAST (UINT64_C(64) << 20)
#define MEM_STEP (UINT64_C(16) << 20)

struct lesson {
	const char *name, *command, *config_dir;
	char *extends;
	struct strv calls;
	size_t added;	    /* of them were not known before */
	uint64_t mem_bytes; /* 0: as in what it extends */
	uint64_t mem_limit; /* of that; 0: none */
};

static void lesson_done(struct lesson *lesson)
{
	free(lesson->extends);
	strv_done(&lesson->calls);
}

static int check_name(const char *name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (!profile_is_name(name) || strlen(name) > NAME_MAX_LEN)
		return error_advise(err, ERROR_USAGE, "aisbx profile learn NAME -- CMD",
				    "'%s' cannot be the name of a profile", str_shown(name, shown));
	if (profile_builtin_find(name))
		return error_advise(err, ERROR_CONFLICT, "aisbx profile learn NAME -- CMD",
				    "a profile '%s' is built in: choose another name", name);
	return 0;
}

/* A relative file would be looked for beside the learned one. */
static int find_extends(const struct request *request, struct lesson *lesson, struct error *err)
{
	const char *word = request->profile ? request->profile : "default";

	if (strcmp(word, lesson->name) == 0)
		return error_advise(err, ERROR_USAGE, "leave out --profile",
				    "the profile %s cannot be learned from itself", word);
	lesson->extends = profile_is_file(word) ? path_real(word) : xstrdup(word);
	return lesson->extends ? 0 : error_errno(err, ERROR_NOT_FOUND, "%s", word);
}

/* What is learned narrows what is there: a list that is there already, or a wall that counts no calls, cannot be seen. */
static int check_plan(const struct request *request, struct spec *spec, struct error *err)
{
	if (app_plan(request, spec, err) < 0)
		return -1;
	if (strcmp(spec->driver, "linux") != 0)
		return error_advise(err, ERROR_DENIED, "learn with a profile of driver: linux",
				    "system calls are not seen under the %s driver", spec->driver);
	if (spec->syscalls.count > 0)
		return error_advise(err, ERROR_DENIED, "learn with --profile of what that extends",
				    "the profile has a list of syscalls already");
	return 0;
}

/* What an earlier lesson found; a file that is not one is left alone. */
static int read_earlier(int dir_fd, const char *file, struct lesson *lesson, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(settings_done) struct settings settings;
	owned(free_ptr) char *path = NULL;

	settings_init(&settings);
	if (own_list_read(dir_fd, file, &text) < 0)
		return error_errno(err, ERROR_HOST, "profiles/%s", file);
	if (text.len == 0)
		return 0;
	if (!str_starts(str_cstr(&text), MARK))
		return error_advise(err, ERROR_CONFLICT, "choose another name, or move it away",
				    "your profile %s was not learned, and is not replaced",
				    lesson->name);
	if (app_resolve_profile(lesson->name, lesson->config_dir, NULL, &settings, &path, err) < 0)
		return -1;
	strv_copy(&lesson->calls, &settings.syscalls);
	uint64_t mem_bytes = settings.mem_bytes > 0 ? (uint64_t)settings.mem_bytes : 0;

	/* It may have been learned under another profile, with more memory than this one has. */
	if (lesson->mem_bytes > 0 && mem_bytes > lesson->mem_bytes)
		lesson->mem_bytes =
			lesson->mem_limit && mem_bytes >= lesson->mem_limit ? 0 : mem_bytes;
	return 0;
}

/* -1 with errno. */
static int open_profiles(const char *config_dir, bool make)
{
	owned(free_ptr) char *path = xasprintf("%s/profiles", config_dir);

	if (make && dir_make_all(path) < 0)
		return -1;
	return open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

static void add_calls(struct lesson *lesson, const struct seccomp_set *seen)
{
	owned(strv_done) struct strv names = STRV_INIT;

	seccomp_set_names(seen, &names);
	for (size_t i = 0; i < names.count; i++) {
		if (strv_has(&lesson->calls, names.items[i]))
			continue;
		strv_add(&lesson->calls, names.items[i]);
		lesson->added++;
	}
	strv_sort(&lesson->calls);
}

static void write_calls(const struct strv *calls, struct str *out)
{
	size_t column = LINE_WIDTH;

	/* An empty list would be none, which permits all; this one every program needs anyway. */
	str_add(out, calls->count > 0 ? "syscalls: [" : "syscalls: [ exit_group");
	for (size_t i = 0; i < calls->count; i++) {
		size_t len = strlen(calls->items[i]);

		if (column + len + 2 > LINE_WIDTH) {
			str_add(out, "\n ");
			column = 1;
		}
		str_addf(out, " %s%s", calls->items[i], i + 1 < calls->count ? "," : "");
		column += len + 2;
	}
	str_add(out, "\n]\n");
}

static void write_lesson(const struct lesson *lesson, struct str *out)
{
	owned(value_release) struct value *extends = value_new_text(lesson->extends);
	char size[32];

	/* Other names may hold what YAML takes for a line break, and would go on as keys. */
	str_addf(out, MARK " from %s; learning again adds to it\nname: %s\nextends: ",
		 profile_is_name(lesson->command) ? lesson->command : "a command", lesson->name);
	json_write(out, extends, 0);
	str_add_char(out, '\n');
	if (lesson->mem_bytes) {
		units_format_size((int64_t)lesson->mem_bytes, size);
		str_addf(out, "mem: %s\n", size);
	}
	write_calls(&lesson->calls, out);
}

/* Twice what was used, in round figures; nothing where that is no less than the limit it had. */
static uint64_t learn_memory(uint64_t peak, uint64_t limit)
{
	uint64_t room = (2 * peak + MEM_STEP - 1) / MEM_STEP * MEM_STEP;

	if (room < MEM_LEAST)
		room = MEM_LEAST;
	return peak == 0 || (limit && room >= limit) ? 0 : room;
}

/* Under a lock: two lessons at once both count. */
static int keep(struct lesson *lesson, const struct seccomp_set *seen, char **ret_path,
		struct error *err)
{
	owned(free_ptr) char *file = xasprintf("%s.yaml", lesson->name);
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int dir_fd = open_profiles(lesson->config_dir, true);

	if (dir_fd < 0 || flock(dir_fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "%s/profiles", lesson->config_dir);
	if (read_earlier(dir_fd, file, lesson, err) < 0)
		return -1;
	add_calls(lesson, seen);
	write_lesson(lesson, &text);
	if (own_list_replace(dir_fd, file, &text) < 0)
		return error_errno(err, ERROR_HOST, "profiles/%s", file);
	*ret_path = xasprintf("%s/profiles/%s", lesson->config_dir, file);
	return 0;
}

/* Before the command runs: a name that cannot be taken is refused then. */
static int prepare(const struct request *request, struct lesson *lesson, struct spec *spec,
		   struct error *err)
{
	owned(free_ptr) char *file = xasprintf("%s.yaml", lesson->name);
	struct lesson earlier = *lesson;
	owned(fd_close) int dir_fd = -1;

	if (!lesson->config_dir)
		return error_set(err, ERROR_HOST,
				 "HOME is not set: profiles are kept in ~/.config/aisbx");
	if (check_name(lesson->name, err) < 0 || find_extends(request, lesson, err) < 0 ||
	    check_plan(request, spec, err) < 0)
		return -1;
	earlier.extends = NULL;
	dir_fd = open_profiles(lesson->config_dir, false);
	if (dir_fd < 0)
		return 0;
	int status = read_earlier(dir_fd, file, &earlier, err);

	lesson_done(&earlier);
	return status;
}

static struct value *answer_of(const struct lesson *lesson, const char *path)
{
	struct value *answer = value_new_map();

	value_set(answer, "name", value_new_text(lesson->name));
	value_set(answer, "path", value_new_text(path));
	value_set(answer, "extends", value_new_text(lesson->extends));
	value_set(answer, "mem_bytes",
		  lesson->mem_bytes ? value_new_int((int64_t)lesson->mem_bytes) : value_new_null());
	value_set(answer, "syscalls", value_from_strv(&lesson->calls));
	value_set(answer, "added", value_new_int((int64_t)lesson->added));
	return answer;
}

int app_profile_learn(const struct request *request, const char *name, bool capture,
		      struct run_result *ret_result, struct value **ret_answer, struct error *err)
{
	owned(free_ptr) char *config_dir = app_config_dir(request->environ);
	owned(free_ptr) char *path = NULL;
	owned(spec_done) struct spec spec;
	const char *slash = strrchr(request->command.items[0], '/');
	struct seccomp_set seen = { .has = { false } };
	owned(lesson_done) struct lesson lesson = {
		.command = slash ? slash + 1 : request->command.items[0],
		.config_dir = config_dir,
	};
	const struct app_run_options options = { .capture = capture, .seen = &seen };

	spec_init(&spec);
	lesson.name = name ? name : lesson.command;
	if (prepare(request, &lesson, &spec, err) < 0 ||
	    app_run(request, &options, ret_result, err) < 0)
		return -1;
	if (ret_result->status != RUN_SUCCESS)
		return 0;
	lesson.mem_limit = spec.limits.mem_bytes;
	lesson.mem_bytes = learn_memory(ret_result->peak_memory_bytes, lesson.mem_limit);
	if (keep(&lesson, &seen, &path, err) < 0)
		return -1;
	*ret_answer = answer_of(&lesson, path);
	return 0;
}
