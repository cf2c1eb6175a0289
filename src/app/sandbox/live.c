/* SPDX-License-Identifier: Apache-2.0 */
/* What runs right now: the files that runs keep up to date, and the kernel's counts of their input and output. */
#include "app/sandbox/live.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "host/host.h"
#include "observe/process_io.h"
#include "observe/result.h"
#include "run/live.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVE_BYTES_MAX ((size_t)512 << 10)
#define WARN_PERCENT 80

/* The run's own line; NULL when it is gone. An unlocked one was left by a killed run, and is removed. */
static struct value *read_line(int dir_fd, const char *name)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;
	struct value *line = NULL;
	struct error ignored;

	if (live_remove_left(dir_fd, name))
		return NULL;
	fd = file_open(dir_fd, name, O_NOFOLLOW, NULL);
	if (fd < 0 || fd_read_all(fd, LIVE_BYTES_MAX, &text) < 0 ||
	    json_read(str_cstr(&text), text.len, NULL, &line, &ignored) < 0)
		return NULL;
	if (line->kind == VALUE_MAP && value_get_text(line, "run_id"))
		return line;
	value_free(line);
	return NULL;
}

static const struct value *find_run(const struct value *list, const char *run_id)
{
	for (size_t i = 0; list && i < list->many.count; i++) {
		const char *other = value_get_text(list->many.items[i], "run_id");

		if (other && strcmp(other, run_id) == 0)
			return list->many.items[i];
	}
	return NULL;
}

/* Of one processor, since the earlier answer or since the beginning. */
static double cpu_percent(const struct value *line, const struct value *earlier)
{
	int64_t since_ms = value_int_of(line, "started_ms"), used_us = value_int_of(line, "cpu_us");
	int64_t span_ms;

	if (earlier) {
		since_ms = value_int_of(earlier, "at_ms");
		used_us -= value_int_of(earlier, "cpu_ms") * 1000;
	}
	span_ms = value_int_of(line, "at_ms") - since_ms;
	/* No sample in between: the earlier figure is the latest one. */
	if (span_ms <= 0)
		return earlier && value_get(earlier, "cpu_percent")
			       ? value_get(earlier, "cpu_percent")->real
			       : 0;
	return (double)used_us / 10.0 / (double)span_ms;
}

static struct value *percent(int64_t value, int64_t limit)
{
	return limit > 0 ? value_new_real(100.0 * (double)value / (double)limit) : value_new_null();
}

static void add_warning(struct value *list, const char *what, int64_t value, int64_t limit)
{
	owned(free_ptr) char *text = NULL;

	if (limit <= 0 || value * 100 < limit * WARN_PERCENT)
		return;
	text = xasprintf("%s at %lld %% of its limit", what, (long long)(value * 100 / limit));
	value_append(list, value_new_text(text));
}

static struct value *describe(const struct value *line, const struct value *before,
			      const struct process_list *processes)
{
	const char *run_id = value_get_text(line, "run_id");
	const struct value *words = value_get(line, "command");
	struct value *row = value_new_map(), *command, *warnings;
	int64_t memory = value_int_of(line, "memory_bytes"),
		disk = value_int_of(line, "disk_bytes");
	uint64_t io[2];
	char started[32];

	time_format_utc((uint64_t)value_int_of(line, "started_ms"), started);
	process_io(processes, value_int_of(line, "supervisor"), io);
	value_add(row, "run_id", value_new_text(run_id));
	value_add(row, "sandbox", value_new_text(value_get_text(line, "sandbox")));
	value_add(row, "trace_id", value_new_text(value_get_text(line, "trace_id")));
	command = value_add(row, "command", value_new_list());
	for (size_t i = 0; words && words->kind == VALUE_LIST && i < words->many.count; i++) {
		const struct value *word = words->many.items[i];

		value_append(command,
			     value_new_text(word->kind == VALUE_TEXT ? word->text.bytes : ""));
	}
	value_add(row, "started", value_new_text(started));
	value_add(row, "at_ms", value_new_int(value_int_of(line, "at_ms")));
	value_add(row, "cpu_percent", value_new_real(cpu_percent(line, find_run(before, run_id))));
	value_add(row, "cpu_ms", value_new_int(value_int_of(line, "cpu_us") / 1000));
	value_add(row, "memory_bytes", value_new_int(memory));
	value_add(row, "memory_percent", percent(memory, value_int_of(line, "mem_limit")));
	value_add(row, "pids", value_new_int(value_int_of(line, "pids")));
	value_add(row, "disk_bytes", value_new_int(disk));
	value_add(row, "disk_percent", percent(disk, value_int_of(line, "disk_limit")));
	value_add(row, "read_bytes", value_new_int((int64_t)io[0]));
	value_add(row, "write_bytes", value_new_int((int64_t)io[1]));
	warnings = value_add(row, "warnings", value_new_list());
	add_warning(warnings, "memory", memory, value_int_of(line, "mem_limit"));
	add_warning(warnings, "processes", value_int_of(line, "pids"),
		    value_int_of(line, "pids_limit"));
	add_warning(warnings, "disk", disk, value_int_of(line, "disk_limit"));
	add_warning(warnings, "time",
		    value_int_of(line, "at_ms") - value_int_of(line, "started_ms"),
		    value_int_of(line, "time_limit_ms"));
	return row;
}

static int by_id(const void *left, const void *right)
{
	const struct value *const *a = left, *const *b = right;

	return strcmp(value_get_text(*a, "run_id"), value_get_text(*b, "run_id"));
}

int app_live(const struct value *before, struct value **ret_list, struct error *err)
{
	owned(process_list_done) struct process_list processes = { 0 };
	owned(host_done) struct host host = { 0 };
	owned(free_ptr) char *path = NULL;
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;

	if (host_read_caller(&host, err) < 0)
		return -1;
	path = xasprintf("%s/live", host.state_dir);
	*ret_list = value_new_list();
	dir = opendir(path);
	if (!dir)
		return 0;
	process_list_read(&processes);
	while (dir_next(dir, &entry) > 0) {
		owned(value_release) struct value *line = NULL;

		if (entry->d_name[0] == '.')
			continue;
		line = read_line(dirfd(dir), entry->d_name);
		if (line)
			value_append(*ret_list, describe(line, before, &processes));
	}
	if ((*ret_list)->many.count > 1)
		qsort((*ret_list)->many.items, (*ret_list)->many.count, sizeof(struct value *),
		      by_id);
	return 0;
}
