/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of what a service's data is made of, without the data: its own client writes that down, and a server of the same
 * program, which listens in the copy alone, makes it anew in the copy's directory. What that server then writes down itself must
 * be the same: what could not be made is no error of the client's.
 */
#include "services/instant.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "workspace/disk/copy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA_NS (UINT64_C(300) * 1000000000)
#define LOOK_AGAIN_NS 20000000
#define STOP_MS 30000
#define SCHEMA_MAX ((size_t)256 << 20)
#define DUMPED "aisbx-schema"
#define DUMPED_AGAIN "aisbx-schema-again"

static int ask_field(const struct service_task *task, const char *field, uint64_t until_ns,
		     struct service_answer *answer, struct error *err)
{
	const char *row = recipe_get(task->service->recipe, field, 0);
	owned(strv_done) struct strv words = STRV_INIT;

	if (recipe_expand(task->service, row, &words, err) < 0)
		return -1;
	str_clear(&answer->text);
	return service_ask(task->service, &words, task->dir_fd, until_ns, answer, err);
}

static int do_field(const struct service_task *task, const char *field, uint64_t until_ns,
		    struct error *err)
{
	owned(service_answer_done) struct service_answer answer = { .code = 0 };

	if (ask_field(task, field, until_ns, &answer, err) < 0)
		return -1;
	return answer.code == 0
		       ? 0
		       : error_set(err, ERROR_DENIED, "%s: its schema was not saved: %.300s",
				   task->service->name, str_cstr(&answer.text));
}

static int await_server(const struct service_task *task, uint64_t until_ns, struct error *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
	owned(service_answer_done) struct service_answer answer = { .code = 1 };

	while (answer.code != 0) {
		if (ask_field(task, "schema-ready", until_ns, &answer, err) < 0)
			return -1;
		if (clock_now_ns() > until_ns)
			return error_set(err, ERROR_HOST,
					 "a server for the schema of %s does not start",
					 task->service->name);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* The next line that is no remark, and no key that a client makes up each time; NULL: none. */
static const char *next_line(const char **at, size_t *ret_len)
{
	while (**at) {
		const char *line = *at;

		*ret_len = strcspn(line, "\n");
		*at += *ret_len + (line[*ret_len] == '\n');
		if (*ret_len > 0 && !str_starts(line, "--") && !str_starts(line, "\\restrict") &&
		    !str_starts(line, "\\unrestrict"))
			return line;
	}
	return NULL;
}

static bool is_same_text(const char *one, const char *other)
{
	for (;;) {
		size_t len = 0, other_len = 0;
		const char *line = next_line(&one, &len),
			   *other_line = next_line(&other, &other_len);

		if (!line || !other_line)
			return line == other_line;
		if (len != other_len || memcmp(line, other_line, len) != 0)
			return false;
	}
}

/* As the service's user, whose files they are. */
static int compare_as_user(void *cookie, struct error *err)
{
	const struct service_task *task = cookie;
	static const char *const names[] = { DUMPED, DUMPED_AGAIN };
	struct str texts[2] = { STR_INIT, STR_INIT };
	bool is_same = true;

	for (size_t i = 0; i < 2; i++) {
		owned(fd_close) int fd =
			file_open(task->dir_fd, names[i], O_RDONLY | O_NOFOLLOW, NULL);

		is_same &= fd >= 0 && fd_read_all(fd, SCHEMA_MAX, &texts[i]) >= 0 &&
			   unlinkat(task->dir_fd, names[i], 0) == 0;
	}
	is_same = is_same && is_same_text(str_cstr(&texts[0]), str_cstr(&texts[1]));
	str_done(&texts[0]);
	str_done(&texts[1]);
	return is_same ? 0
		       : error_set(err, ERROR_DENIED,
				   "%s: not all of its schema could be made anew in a copy",
				   task->service->name);
}

/* Rules and settings are no data: the files that are there replace those of the empty state. As the service's user. */
static int take_as_user(void *cookie, struct error *err)
{
	const struct service_task *task = cookie;
	const struct service *service = task->service;
	owned(strv_done) struct strv names = STRV_INIT;
	owned(fd_close) int state_fd =
		open(service->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (recipe_expand(service, recipe_get(service->recipe, "schema-take", 0), &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		owned(fd_close) int from =
			file_open(state_fd, names.items[i], O_RDONLY | O_NOFOLLOW, NULL);

		if (from < 0 && errno == ENOENT)
			continue;
		owned(fd_close) int to =
			openat(task->dir_fd, names.items[i],
			       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (from < 0 || to < 0 || copy_content(from, to) < 0)
			return error_errno(err, ERROR_HOST, "copy of %.200s", names.items[i]);
	}
	return 0;
}

static int load(const struct service_task *task, uint64_t until_ns, struct error *err)
{
	if (await_server(task, until_ns, err) < 0 ||
	    do_field(task, "schema-load", until_ns, err) < 0)
		return -1;
	return do_field(task, "schema-again", until_ns, err);
}

int schema_copy(const struct service_task *task, struct error *err)
{
	const struct service *service = task->service;
	owned(strv_done) struct strv words = STRV_INIT;
	owned(fd_close) int fd = -1;
	uint64_t until_ns = clock_now_ns() + SCHEMA_NS;
	int code;

	if (do_field(task, "schema-empty", until_ns, err) < 0 ||
	    do_field(task, "schema", until_ns, err) < 0 ||
	    recipe_expand(service, recipe_get(service->recipe, "schema-serve", 0), &words, err) < 0)
		return -1;
	pid_t pid = service_serve(service, &words, task->dir_fd, &fd, err);

	if (pid < 0)
		return -1;
	int status = load(task, until_ns, err);

	(void)kill(pid, SIGINT);
	if (!child_wait_within(pid, STOP_MS, &code) && status == 0)
		return error_set(err, ERROR_HOST, "a server for the schema of %s does not end",
				 service->name);
	if (status < 0 || service_do(service, compare_as_user, (void *)(uintptr_t)task, err) < 0)
		return -1;
	return service_do(service, take_as_user, (void *)(uintptr_t)task, err);
}
