/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of services: of one by the first way of its recipe that works, of several at once; and the words that start them again. */
#include "services/instant.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/file/real_path.h"
#include "workspace/disk/copy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COPY_NS (UINT64_C(300) * 1000000000)
#define LOOK_AGAIN_NS 5000000
#define READY_MS 30000
#define SETTINGS_MAX ((size_t)1 << 20)

void service_clone_done(struct service_clone *clone)
{
	strv_done(&clone->start);
	strv_done(&clone->ready);
	strv_done(&clone->run_dirs);
}

/* A row of TEXT and words: whether what they print holds TEXT. */
static int ask_row(const struct service *service, const char *row, uint64_t until_ns,
		   struct service_answer *ret_answer, bool *ret_holds, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT, argv = STRV_INIT;

	if (recipe_expand(service, row, &words, err) < 0)
		return -1;
	for (size_t i = 1; i < words.count; i++)
		strv_add(&argv, words.items[i]);
	str_clear(&ret_answer->text);
	if (service_ask(service, &argv, -1, until_ns, ret_answer, err) < 0)
		return -1;
	*ret_holds = ret_answer->code == 0 && strstr(str_cstr(&ret_answer->text), words.items[0]);
	return 0;
}

/* The rows of FIELD in order; AGAIN: each until it holds. */
static int ask_rows(const struct service *service, const char *field, bool again, uint64_t until_ns,
		    struct error *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
	owned(service_answer_done) struct service_answer answer = { .code = 0 };
	const char *row;

	for (size_t i = 0; (row = recipe_get(service->recipe, field, i)); i++) {
		bool holds = false;

		while (!holds) {
			if (ask_row(service, row, until_ns, &answer, &holds, err) < 0)
				return -1;
			if (!holds && (!again || clock_now_ns() > until_ns))
				return error_set(err, ERROR_HOST,
						 "%s was not saved; it answered: %.200s",
						 service->name, str_cstr(&answer.text));
			if (!holds)
				(void)nanosleep(&pause, NULL);
		}
	}
	return 0;
}

struct taking {
	const struct service *service;
	const char *from, *to; /* FROM: NULL for an empty file */
	const char *omit;      /* a setting whose lines are left out; NULL: none */
	int dir_fd;
};

/* Without lines that begin with the word OMIT, in any case of letters. */
static int copy_lines(int from, int to, const char *omit)
{
	owned(str_done) struct str text = STR_INIT;
	size_t len = strlen(omit), line_len;

	if (fd_read_all(from, SETTINGS_MAX, &text) < 0)
		return -1;
	for (const char *line = str_cstr(&text); *line; line += line_len) {
		const char *word = line + strspn(line, " \t");

		line_len = strcspn(line, "\n");
		line_len += line[line_len] == '\n';
		if ((strncasecmp(word, omit, len) != 0 || !strchr(" \t", word[len])) &&
		    fd_write_all(to, line, line_len) < 0)
			return -1;
	}
	return 0;
}

/* Runs as the service's user, who may read and link to what it likes, and no more. */
static int take_as_user(void *cookie, struct error *err)
{
	const struct taking *taking = cookie;
	const struct service *service = taking->service;
	owned(fd_close) int state_fd =
		open(service->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(fd_close) int from = -1;
	owned(fd_close) int to = openat(taking->dir_fd, taking->to,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (state_fd < 0 || to < 0)
		return error_errno(err, ERROR_HOST, "copy of %s", service->dir);
	if (!taking->from)
		return 0;
	from = file_open(state_fd, taking->from, O_RDONLY | O_NOFOLLOW, &st);
	if (from < 0 ||
	    (taking->omit ? copy_lines(from, to, taking->omit) : copy_content(from, to)) < 0)
		return error_errno(err, ERROR_HOST, "copy of %.200s", taking->from);
	return 0;
}

/* FROM and TO; what has no value is an empty file. */
static int take_file(const struct service *service, const char *row, int dir_fd, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT, omit = STRV_INIT;
	const char *omitted = recipe_get(service->recipe, "omit", 0);

	if (recipe_expand(service, row, &names, err) < 0 ||
	    (omitted && recipe_expand(service, omitted, &omit, err) < 0))
		return -1;
	struct taking taking = {
		.service = service,
		.from = names.count > 1 ? names.items[0] : NULL,
		.to = names.items[names.count - 1],
		.omit = omit.count == 2 && strcmp(omit.items[0], names.items[names.count - 1]) == 0
				? omit.items[1]
				: NULL,
		.dir_fd = dir_fd
	};

	return service_do(service, take_as_user, &taking, err);
}

static int is_known(const struct service *service, const char *word, bool *ret_is_known,
		    struct error *err)
{
	owned(strv_done) struct strv values = STRV_INIT;

	if (recipe_expand(service, word, &values, err) < 0)
		return -1;
	*ret_is_known = values.count > 0;
	return 0;
}

/* Facts that must be known when another one is: NAME OTHER. */
static int check_needs(const struct service *service, struct error *err)
{
	const char *row;

	for (size_t i = 0; (row = recipe_get(service->recipe, "needs", i)); i++) {
		size_t len = strcspn(row, " ");
		owned(free_ptr) char *name = xstrndup(row, len);
		bool has_one, has_other;

		if (is_known(service, name, &has_one, err) < 0 ||
		    is_known(service, row + len, &has_other, err) < 0)
			return -1;
		if (has_one && !has_other)
			return error_advise(err, ERROR_DENIED,
					    "put its settings into a file that it is started with",
					    "%s was started with settings that stand in no file",
					    service->name);
	}
	return 0;
}

/* The files of a save that has come to its end. */
static int take_saved(const struct service *service, int dir_fd, uint64_t until_ns,
		      struct error *err)
{
	const char *take;

	if (ask_rows(service, "until", true, until_ns, err) < 0 ||
	    ask_rows(service, "check", false, until_ns, err) < 0)
		return -1;
	for (size_t i = 0; (take = recipe_get(service->recipe, "take", i)); i++) {
		if (take_file(service, take, dir_fd, err) < 0)
			return -1;
	}
	return 0;
}

/* By the service's own way of saving itself. */
static int copy_native(const struct service *service, int dir_fd, struct error *err)
{
	const char *fill = recipe_get(service->recipe, "fill", 0);
	uint64_t until_ns = clock_now_ns() + COPY_NS;
	owned(strv_done) struct strv words = STRV_INIT;
	owned(service_answer_done) struct service_answer answer = { .code = 0 };

	if (ask_rows(service, "save", true, until_ns, err) < 0 ||
	    take_saved(service, dir_fd, until_ns, err) < 0)
		return -1;
	if (!fill)
		return 0;
	if (recipe_expand(service, fill, &words, err) < 0 ||
	    service_ask(service, &words, dir_fd, until_ns, &answer, err) < 0)
		return -1;
	if (answer.code != 0)
		return error_set(err, ERROR_DENIED, "%s was not saved: %.300s", service->name,
				 str_cstr(&answer.text));
	return 0;
}

/*
 * A snapshot of a running service holds the file that names its process. After a rollback that number is another process of
 * the sandbox, and the service takes it for one of its own that still runs. It starts in the root, which every
 * user may pass.
 */
static int add_removal(const struct service *service, struct strv *words, struct error *err)
{
	const char *row = recipe_get(service->recipe, "stale", 0);
	owned(strv_done) struct strv files = STRV_INIT;
	char count[16];

	if (!row)
		return 0;
	if (recipe_expand(service, row, &files, err) < 0)
		return -1;
	(void)snprintf(count, sizeof(count), "%zu", files.count);
	strv_add_script(words, "cd /; n=$1; shift; while [ $n -gt 0 ]; do rm -f -- \"$1\"; shift; "
			       "n=$((n - 1)); done; exec \"$@\"");
	strv_add(words, "sh");
	strv_add(words, count);
	strv_copy(words, &files);
	return 0;
}

/*
 * The directories of recipe field `run` that lie in /run and are the service's own: what it says of others is not believed. PATH may
 * lead there by links.
 */
static void add_run_dir(const struct service *service, const char *path, struct strv *dirs)
{
	owned(free_ptr) char *real = path_real(path);
	struct stat st;

	if (real && stat(real, &st) == 0 && !S_ISDIR(st.st_mode))
		*strrchr(real, '/') = '\0';
	if (!real || !str_starts(real, "/run/") || strchr(real + strlen("/run/"), '/') ||
	    lstat(real, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != service->uid)
		return;
	strv_take(dirs, xasprintf("%o %s", st.st_mode & (S_ISGID | S_ISVTX | 0777),
				  real + strlen("/run/")));
}

static int find_run_dirs(const struct service *service, struct strv *dirs, struct error *err)
{
	owned(strv_done) struct strv paths = STRV_INIT;
	const char *row;

	for (size_t i = 0; (row = recipe_get(service->recipe, "run", i)); i++) {
		if (recipe_expand(service, row, &paths, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < paths.count; i++)
		add_run_dir(service, paths.items[i], dirs);
	return 0;
}

static int write_words(const struct service *service, struct service_clone *clone,
		       struct error *err)
{
	const char *row, *stop = recipe_get(service->recipe, "stop", 0);

	if (add_removal(service, &clone->start, err) < 0 ||
	    find_run_dirs(service, &clone->run_dirs, err) < 0)
		return -1;
	for (size_t i = 0; (row = recipe_get(service->recipe, "start", i)); i++) {
		if (recipe_expand(service, row, &clone->start, err) < 0)
			return -1;
	}
	row = service->uid != geteuid() ? recipe_get(service->recipe, "other", 0) : NULL;
	if (row && recipe_expand(service, row, &clone->start, err) < 0)
		return -1;
	row = recipe_get(service->recipe, "ready", 0);
	if (row && recipe_expand(service, row, &clone->ready, err) < 0)
		return -1;
	clone->ready_ms = READY_MS;
	clone->stop_signal = stop && strcmp(stop, "INT") == 0 ? SIGINT : SIGTERM;
	return 0;
}

static int prepare(struct service *service, struct error *err)
{
	if (recipe_facts(service, err) < 0)
		return -1;
	return check_needs(service, err);
}

int service_copy(const struct service_task *task, struct service_clone *ret_clone,
		 struct error *err)
{
	struct service *service = task->service;
	struct service_clone clone = { .level = "native" };
	bool has_native =
		recipe_get(service->recipe, "fill", 0) || recipe_get(service->recipe, "take", 0);
	bool may_freeze = recipe_get(service->recipe, "frozen", 0);
	int status;

	if (prepare(service, err) < 0)
		return -1;
	status = has_native ? copy_native(service, task->dir_fd, err) : -1;
	if (status < 0 && may_freeze) {
		clone.level = "frozen";
		status = states_copy_frozen(task, 1, NULL, NULL, &clone.pause_us, err);
	}
	if (status < 0 || write_words(service, &clone, err) < 0) {
		service_clone_done(&clone);
		return -1;
	}
	*ret_clone = clone;
	return 0;
}

int service_copy_schema(const struct service_task *task, struct service_clone *ret_clone,
			struct error *err)
{
	struct service_clone clone = { .level = SERVICE_SCHEMA };

	if (!recipe_get(task->service->recipe, "schema", 0))
		return error_set(err, ERROR_DENIED, "%s has no schema apart from its data",
				 task->service->name);
	if (prepare(task->service, err) < 0 || schema_copy(task, err) < 0)
		return -1;
	if (write_words(task->service, &clone, err) < 0) {
		service_clone_done(&clone);
		return -1;
	}
	*ret_clone = clone;
	return 0;
}

/* A service that cannot be copied while it stands, and that saves itself while the others do. */
struct saving {
	const struct service_task *task;
	uint64_t saves; /* before */
};

static int count_saves(const struct service *service, uint64_t *ret_count, struct error *err)
{
	const char *row = recipe_get(service->recipe, "saves", 0);
	owned(free_ptr) char *value = NULL;

	if (row && recipe_ask(service, row, &value, err) < 0)
		return -1;
	if (!value || !*value)
		return error_set(err, ERROR_DENIED,
				 "%s does not tell one save from another: it cannot be copied as "
				 "of one instant with others",
				 service->name);
	*ret_count = strtoull(value, NULL, 10);
	return 0;
}

/* What stands before it holds nothing that comes after it in the others, which stand. */
static int save_now(void *cookie, uint64_t until_ns, struct error *err)
{
	const struct saving *saving = cookie;
	const struct service *service = saving->task->service;

	if (ask_rows(service, "save", false, until_ns, err) == 0)
		return 0;
	return clock_now_ns() >= until_ns ? service_give_up(service, err) : -1;
}

/* The save that was begun at that instant, unless another one took its place. */
static int take_that_save(const struct saving *saving, struct error *err)
{
	const struct service *service = saving->task->service;
	uint64_t saves;

	if (take_saved(service, saving->task->dir_fd, clock_now_ns() + COPY_NS, err) < 0 ||
	    count_saves(service, &saves, err) < 0)
		return -1;
	return saves == saving->saves + 1
		       ? 0
		       : error_set(err, ERROR_BUSY,
				   "%s saved itself once more meanwhile: the copy was given up",
				   service->name);
}

static int copy_at_once(const struct service_task *halted, size_t count, struct saving *saving,
			uint64_t *ret_pause_us, struct error *err)
{
	if (!saving->task)
		return states_copy_frozen(halted, count, NULL, NULL, ret_pause_us, err);
	if (ask_rows(saving->task->service, "until", true, clock_now_ns() + COPY_NS, err) < 0 ||
	    count_saves(saving->task->service, &saving->saves, err) < 0 ||
	    states_copy_frozen(halted, count, save_now, saving, ret_pause_us, err) < 0)
		return -1;
	return take_that_save(saving, err);
}

/* Which of them are halted, and which one is not. */
static int sort_tasks(const struct service_task *tasks, size_t count, struct service_task *halted,
		      size_t *ret_halted, struct saving *saving, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = tasks[i].service->name;

		if (recipe_get(tasks[i].service->recipe, "frozen", 0))
			halted[(*ret_halted)++] = tasks[i];
		else if (!saving->task)
			saving->task = &tasks[i];
		else
			return error_set(
				err, ERROR_DENIED,
				"%s and %s keep their data in memory, and each saves it at "
				"an instant of its own: only one such service can be "
				"copied together with others",
				saving->task->service->name, name);
		if (prepare(tasks[i].service, err) < 0)
			return -1;
	}
	return 0;
}

int service_copy_together(const struct service_task *tasks, size_t count,
			  struct service_clone *clones, struct error *err)
{
	owned(free_ptr) struct service_task *halted = xcalloc(count, sizeof(*halted));
	struct saving saving = { .task = NULL };
	uint64_t pause_us = 0;
	size_t halted_count = 0;

	if (sort_tasks(tasks, count, halted, &halted_count, &saving, err) < 0 ||
	    copy_at_once(halted, halted_count, &saving, &pause_us, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		clones[i].level = "together";
		clones[i].pause_us = &tasks[i] == saving.task ? 0 : pause_us;
		if (write_words(tasks[i].service, &clones[i], err) < 0)
			return -1;
	}
	return 0;
}
