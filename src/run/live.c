/* SPDX-License-Identifier: Apache-2.0 */
/* What a run uses right now, in a small file. */
#include "run/live.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void live_init(struct live *live, const struct spec *spec, uint64_t started_ms)
{
	*live = (struct live){ .spec = spec, .started_ms = started_ms, .dir_fd = -1, .fd = -1 };
}

/* Under its own lock from the moment it has its name: readers remove unlocked ones. */
static void make(struct live *live)
{
	owned(fd_close) int state_fd = -1;
	char path[40];

	if (!live->spec->state_dir)
		return;
	state_fd = open(live->spec->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)mkdirat(state_fd, "live", 0700);
	live->dir_fd = openat(state_fd, "live", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	live->fd = openat(live->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (live->fd < 0 || flock(live->fd, LOCK_EX | LOCK_NB) < 0) {
		fd_close(&live->fd);
		return;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", live->fd);
	if (linkat(AT_FDCWD, path, live->dir_fd, live->spec->run_id, AT_SYMLINK_FOLLOW) < 0)
		fd_close(&live->fd);
	live_sweep(live->spec->state_dir, NULL);
}

static void add_number(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	json_int(json, (int64_t)number);
}

static void add_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static void describe(const struct live *live, const struct task_usage *usage, struct str *out)
{
	const struct spec_limits *limits = &live->spec->limits;
	struct json json;

	json_init(&json, out);
	json_open(&json, '{');
	add_text(&json, "run_id", live->spec->run_id);
	add_text(&json, "sandbox", live->spec->sandbox);
	add_text(&json, "trace_id", live->spec->trace_id);
	json_key(&json, "command");
	json_strv(&json, &live->spec->command);
	add_number(&json, "supervisor", (uint64_t)getpid());
	add_number(&json, "started_ms", live->started_ms);
	add_number(&json, "at_ms", clock_epoch_ms());
	add_number(&json, "cpu_us", usage->cpu_us);
	add_number(&json, "memory_bytes", usage->memory_bytes);
	add_number(&json, "pids", usage->pids);
	add_number(&json, "disk_bytes", usage->disk_bytes);
	add_number(&json, "mem_limit", limits->mem_bytes);
	add_number(&json, "pids_limit", limits->pids);
	add_number(&json, "disk_limit", usage->disk_limit_bytes);
	add_number(&json, "time_limit_ms", limits->time_ms);
	json_close(&json, '}');
	str_add_char(out, '\n');
}

void live_update(struct live *live, const struct task_usage *usage)
{
	owned(str_done) struct str text = STR_INIT;

	if (live->dir_fd < 0)
		make(live);
	if (live->fd < 0)
		return;
	describe(live, usage, &text);
	/* A concurrent reader sees an old line, or the beginning of a new one and reads again. */
	if (pwrite(live->fd, text.data, text.len, 0) == (ssize_t)text.len)
		(void)!ftruncate(live->fd, (off_t)text.len);
}

void live_done(struct live *live)
{
	if (live->fd >= 0)
		(void)unlinkat(live->dir_fd, live->spec->run_id, 0);
	fd_close(&live->fd);
	fd_close(&live->dir_fd);
}

static void remove_socket(int dir_fd, const char *run_id)
{
	owned(free_ptr) char *ending = xasprintf(".%s", run_id);
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		if (entry->d_name[0] == '.' && str_ends(entry->d_name, ending))
			(void)unlinkat(dir_fd, entry->d_name, 0);
	}
}

/* A socket whose run has no file: the run was killed after it had removed that one, or its file was removed by hand. */
static void remove_lone_sockets(int dir_fd)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;
	struct stat st;

	while (dir_next(dir, &entry) > 0) {
		const char *dot = strrchr(entry->d_name, '.');

		if (entry->d_name[0] == '.' &&
		    fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISSOCK(st.st_mode) &&
		    faccessat(dir_fd, dot + 1, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			(void)unlinkat(dir_fd, entry->d_name, 0);
	}
}

bool live_remove_left(int dir_fd, const char *run_id)
{
	owned(fd_close) int fd = file_open(dir_fd, run_id, O_NOFOLLOW, NULL);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return false;
	remove_socket(dir_fd, run_id);
	return unlinkat(dir_fd, run_id, 0) == 0;
}

void live_sweep(const char *state_dir, struct strv *removed)
{
	owned(free_ptr) char *path = xasprintf("%s/live", state_dir);
	owned(dir_close) DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		if (entry->d_name[0] != '.' && live_remove_left(dirfd(dir), entry->d_name) &&
		    removed)
			strv_addf(removed, "%s/%s", path, entry->d_name);
	}
	if (dir)
		remove_lone_sockets(dirfd(dir));
}
