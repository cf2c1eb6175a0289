/* SPDX-License-Identifier: Apache-2.0 */
/* How long each driver takes to start a command here: measured when asked for, kept in the cache with its date. */
#include "app/doctor/driver_starts.h"

#include "app/config/own_list.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/own_program.h"
#include "base/process/tmp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "driver-starts"
#define ROUNDS 9
#define START_MS 60000

struct place {
	char *program, *work;
	struct strv environ;
	int null_fd;
};

/* In a process that waits for the start even when its parent is gone. */
static int64_t time_start_here(const struct place *place, const char *driver)
{
	/* The wasm driver has no native command; its smallest one is an interpreter with nothing to do. */
	const char *const native[] = { "true", NULL }, *const python[] = { "python", "-c", "",
									   NULL };
	const char *const *command = strcmp(driver, "wasm") == 0 ? python : native;
	owned(strv_done) struct strv words = STRV_INIT;
	struct error ignored;
	int status;

	strv_add(&words, place->program);
	strv_add(&words, "run");
	strv_addf(&words, "--driver=%s", driver);
	strv_add(&words, "--no-daemon");
	strv_add(&words, "--");
	for (; *command; command++)
		strv_add(&words, *command);
	const struct child_exec exec = { words.items,
					 place->environ.items,
					 place->work,
					 { place->null_fd, place->null_fd, place->null_fd } };
	uint64_t began = clock_now_ns();
	pid_t pid = child_exec(&exec, &ignored);

	if (pid < 0 || !child_wait_within(pid, START_MS, &status) || child_exit_code(status) != 0)
		return -1;
	return (int64_t)((clock_now_ns() - began) / 1000);
}

/*
 * One start in an empty workspace, in microseconds; -1 where it fails. Between is a process with a copy of the descriptor by
 * which the directory is watched: when this one is killed, the directory goes only after the run has ended, which writes to it.
 */
static int64_t time_start(const struct place *place, const char *driver)
{
	owned(fd_close) int fd = -1;
	struct error ignored;
	int64_t us = -1;
	pid_t pid = child_fork(CHILD_WRITES, 0, &fd, &ignored);

	if (pid < 0)
		return -1;
	if (pid == 0) {
		/* Away from a terminal's signals to the group. */
		(void)setpgid(0, 0);
		us = time_start_here(place, driver);
		_exit(fd_write_all(fd, &us, sizeof(us)) < 0);
	}
	ssize_t got;

	do
		got = read(fd, &us, sizeof(us));
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(us))
		us = -1;
	(void)child_wait(pid);
	return us;
}

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* The middle one of several starts, after one that warms caches. */
static int64_t measure(const struct place *place, const char *driver)
{
	int64_t times[ROUNDS];

	if (time_start(place, driver) < 0)
		return -1;
	for (size_t i = 0; i < ROUNDS; i++) {
		times[i] = time_start(place, driver);
		if (times[i] < 0)
			return -1;
	}
	qsort(times, ROUNDS, sizeof(times[0]), compare);
	return times[ROUNDS / 2];
}

/* The runs are recorded beside the workspace: the user's history is about the user's commands. */
static void copy_environ(const char *const *environ, const char *dir, struct strv *ret_environ)
{
	for (; *environ; environ++) {
		if (strncmp(*environ, "XDG_STATE_HOME=", 15) != 0)
			strv_add(ret_environ, *environ);
	}
	strv_addf(ret_environ, "XDG_STATE_HOME=%s/state", dir);
}

/* The line about DRIVER in what was measured, or NULL. */
static const char *line_of(const char *text, const char *driver)
{
	size_t len = strlen(driver);

	while (text && (strncmp(text, driver, len) != 0 || text[len] != ' ')) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text;
}

static int measure_all(const struct place *place, const struct host *host,
		       const struct strv *drivers, struct error *err)
{
	owned(str_done) struct str text = STR_INIT, earlier = STR_INIT;
	owned(fd_close) int dir = -1;

	driver_starts_read(host, &earlier);
	for (size_t i = 0; i < drivers->count; i++) {
		int64_t us = measure(place, drivers->items[i]);
		/* What was found last stays where nothing is found now. */
		const char *line = us < 0 ? line_of(str_cstr(&earlier), drivers->items[i]) : NULL;

		if (us >= 0)
			str_addf(&text, "%s %lld %llu\n", drivers->items[i], (long long)us,
				 (unsigned long long)clock_epoch_ms());
		else if (line)
			str_addf(&text, "%.*s\n", (int)strcspn(line, "\n"), line);
	}
	if (dir_make_all(host->cache_dir) == 0)
		dir = open(host->cache_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || own_list_replace(dir, FILE_NAME, &text) < 0)
		return error_errno(err, ERROR_HOST, "%s/" FILE_NAME, host->cache_dir);
	return 0;
}

int driver_starts_measure(const struct host *host, const char *const *environ,
			  const struct strv *drivers, struct error *err)
{
	struct tmp_dir dir = { 0 };
	struct place place = { own_program("aisbx"), NULL, STRV_INIT, -1 };
	int outcome = -1;

	if (!place.program)
		error_set(err, ERROR_HOST, "the program aisbx is not beside this one");
	else if (tmp_dir_open("/var/tmp", &dir, err) == 0) {
		place.work = xasprintf("%s/work", dir.path);
		place.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		copy_environ(environ, dir.path, &place.environ);
		outcome = place.null_fd < 0 || mkdir(place.work, 0700) < 0
				  ? error_errno(err, ERROR_HOST, "%s", place.work)
				  : measure_all(&place, host, drivers, err);
		tmp_dir_close(&dir);
	}
	fd_close(&place.null_fd);
	strv_done(&place.environ);
	free(place.work);
	free(place.program);
	return outcome;
}

void driver_starts_read(const struct host *host, struct str *ret_text)
{
	owned(fd_close) int dir = open(host->cache_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || own_list_read(dir, FILE_NAME, ret_text) < 0)
		ret_text->len = 0;
}

void driver_starts_add(const char *text, const char *driver, struct value *row)
{
	const char *line = line_of(text, driver);
	long long us = 0;
	char date[32] = "", *end;

	if (line) {
		us = strtoll(line + strlen(driver), &end, 10);
		time_format_utc(strtoull(end, NULL, 10), date);
	}
	value_add(row, "start_ms", us > 0 ? value_new_real((double)us / 1000) : value_new_null());
	value_add(row, "measured", value_new_text(us > 0 ? date : NULL));
}
