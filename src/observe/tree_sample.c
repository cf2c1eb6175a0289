/* SPDX-License-Identifier: Apache-2.0 */
/* Live figures of all processes of a sandbox, read from its own /proc. */
#include "observe/tree_sample.h"

#include "base/file/dir.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SIZE 16 /* a process number; proc has no longer ones */

static bool is_process(const char *name)
{
	return name[0] >= '1' && name[0] <= '9' && strlen(name) < NAME_SIZE;
}

static bool is_init(const char *name)
{
	return strcmp(name, "1") == 0;
}

static ssize_t read_proc(int proc_fd, const char *process, const char *file, char *buffer,
			 size_t size)
{
	char path[NAME_SIZE + 16];

	(void)snprintf(path, sizeof(path), "%.15s/%s", process, file);
	owned(fd_close) int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, buffer, size - 1);

	buffer[got > 0 ? got : 0] = '\0';
	return got;
}

/*
 * Fields behind the command's name, which may hold blanks and brackets: utime 14, stime 15, both of the children waited
 * for 16 and 17, threads 20. Init counts for the orphans it has waited for. Returns the threads.
 */
static uint64_t add_stat(int proc_fd, const char *process, struct tree_usage *usage)
{
	unsigned long long own[2] = { 0 }, waited[2] = { 0 }, threads = 0;
	unsigned long long tick = (unsigned long long)sysconf(_SC_CLK_TCK);
	char text[1024];

	if (read_proc(proc_fd, process, "stat", text, sizeof(text)) <= 0)
		return 0;
	const char *rest = strrchr(text, ')');

	if (!rest || sscanf(rest,
			    ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu "
			    "%*d %*d %llu",
			    &own[0], &own[1], &waited[0], &waited[1], &threads) != 5)
		return 0;
	usage->cpu_us += (waited[0] + waited[1]) * 1000000 / tick;
	if (is_init(process))
		return threads;
	usage->cpu_us += (own[0] + own[1]) * 1000000 / tick;
	usage->tasks += threads;
	return threads;
}

/* Pages of a task; false when it has no memory any more. */
static bool read_memory(int proc_fd, const char *task, uint64_t *ret_pages)
{
	unsigned long long resident = 0, shared = 0;
	char text[256];

	if (read_proc(proc_fd, task, "statm", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || resident == 0)
		return false;
	*ret_pages = resident - (shared < resident ? shared : resident);
	return true;
}

/* A process is listed under its first thread. When that one has ended, any other knows of the memory they share. */
static bool read_memory_of_threads(int proc_fd, const char *process, uint64_t *ret_pages)
{
	char path[NAME_SIZE + 8];
	struct dirent *entry;

	(void)snprintf(path, sizeof(path), "%.15s/task", process);
	owned(dir_close) DIR *list = dir_open(proc_fd, path);

	while (dir_next(list, &entry) > 0)
		if (is_process(entry->d_name) && read_memory(dirfd(list), entry->d_name, ret_pages))
			return true;
	return false;
}

static void add_memory(int proc_fd, const char *process, uint64_t threads, struct tree_usage *usage)
{
	uint64_t pages = 0;

	if (is_init(process))
		return;
	if (read_memory(proc_fd, process, &pages) ||
	    (threads > 1 && read_memory_of_threads(proc_fd, process, &pages)))
		usage->memory_bytes += pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void tree_sample_one(int proc_fd, const char *process, struct tree_usage *usage)
{
	uint64_t threads = add_stat(proc_fd, process, usage);

	add_memory(proc_fd, process, threads, usage);
}

void tree_sample(int proc_fd, struct tree_usage *ret_usage)
{
	owned(dir_close) DIR *list = dir_open(proc_fd, ".");
	struct dirent *entry;

	*ret_usage = (struct tree_usage){ 0 };
	while (dir_next(list, &entry) > 0) {
		if (is_process(entry->d_name))
			tree_sample_one(proc_fd, entry->d_name, ret_usage);
	}
}

uint64_t tree_count(int proc_fd)
{
	owned(dir_close) DIR *list = dir_open(proc_fd, ".");
	struct dirent *entry;
	uint64_t tasks = 0;

	while (dir_next(list, &entry) > 0) {
		char path[NAME_SIZE + 8];
		struct stat st;

		if (!is_process(entry->d_name) || is_init(entry->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "%.15s/task", entry->d_name);
		/* A directory with one entry per thread, and a link for each. */
		if (fstatat(proc_fd, path, &st, 0) == 0 && st.st_nlink > 2)
			tasks += st.st_nlink - 2;
	}
	return tasks;
}

uint64_t tree_session_cpu_us(int proc_fd, int session)
{
	owned(dir_close) DIR *list = dir_open(proc_fd, ".");
	struct dirent *entry;
	struct tree_usage usage = { 0 };

	while (dir_next(list, &entry) > 0) {
		char text[1024];
		int found = 0;

		if (!is_process(entry->d_name) || is_init(entry->d_name) ||
		    read_proc(proc_fd, entry->d_name, "stat", text, sizeof(text)) <= 0)
			continue;
		const char *rest = strrchr(text, ')');

		if (rest && sscanf(rest, ") %*c %*d %*d %d", &found) == 1 && found == session)
			(void)add_stat(proc_fd, entry->d_name, &usage);
	}
	return usage.cpu_us;
}
