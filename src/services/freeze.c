/* SPDX-License-Identifier: Apache-2.0 */
/* Processes halted for a moment, and the watchdog that lets them go on whatever happens to the process that halted them. */
#include "services/instant.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HALTED_MAX 4096
#define ROUNDS 64
/* For a watchdog on a busy machine: more than the limit, and still a bound. */
#define WATCHDOG_SLACK_MS 500
/* How often it lets them go on after that, while the process that halted them is there and may halt more. */
#define WATCHDOG_AGAIN_MS 100
#define WATCHDOG_START_NS UINT64_C(10000000000)

struct freeze_list {
	size_t count; /* written before its process is halted */
	struct {
		pid_t pid;
		uint64_t began;
	} items[HALTED_MAX];
};

struct process {
	pid_t pid, parent;
	char state;
};

static bool read_process(const char *name, struct process *ret_process)
{
	char path[32], text[512];

	(void)snprintf(path, sizeof(path), "/proc/%.10s/stat", name);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	const char *end = strrchr(text, ')');

	ret_process->pid = (pid_t)strtol(name, NULL, 10);
	return end && sscanf(end + 1, " %c %d", &ret_process->state, &ret_process->parent) == 2;
}

/* A process whose number was given to another meanwhile is left alone. */
static void let_go_on(const struct freeze_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (process_began(list->items[i].pid) == list->items[i].began)
			(void)kill(list->items[i].pid, SIGCONT);
	}
}

static bool has(const struct freeze_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].pid == pid)
			return true;
	}
	return false;
}

static void halt(struct freeze_list *list, pid_t pid)
{
	if (list->count == HALTED_MAX)
		return;
	list->items[list->count].pid = pid;
	list->items[list->count].began = process_began(pid);
	list->count++;
	(void)kill(pid, SIGSTOP);
}

/* One pass over all processes: halts children of those that are halted. Whether one was new, or still runs. */
static bool halt_children(struct freeze_list *list)
{
	owned(dir_close) DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool is_busy = false;

	while (proc && dir_next(proc, &entry) > 0) {
		struct process process;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !read_process(entry->d_name, &process) || process.state == 'Z' ||
		    process.state == 'X')
			continue;
		if (has(list, process.pid)) {
			is_busy |= process.state != 'T' && process.state != 't';
		} else if (has(list, process.parent) && process.state != 'T') {
			halt(list, process.pid);
			is_busy = true;
		}
	}
	return is_busy || list->count == HALTED_MAX;
}

/*
 * Waits for the parent's end, or the time; then everything goes on. A parent that has no more need of it ends it. One that
 * was itself halted for long may halt a process after that time, so this stays for as long as there is a parent.
 */
static _Noreturn void watch(const struct freeze_list *list, int fd, int limit_ms)
{
	int ready;

	/* What ends the parent's group or session must not end this. */
	if (process_detach(&fd, 1, "aisbx-thaw") < 0 || write(fd, "", 1) != 1)
		_exit(1);
	while ((ready = fd_wait(fd, POLLIN, limit_ms)) <= 0) {
		if (ready < 0)
			continue;
		let_go_on(list);
		limit_ms = WATCHDOG_AGAIN_MS;
	}
	let_go_on(list);
	_exit(0);
}

int freeze_open(struct freeze *ret_freeze, struct error *err)
{
	struct freeze freeze = { .watchdog_fd = -1, .watchdog = -1 };

	freeze.list = mmap(NULL, sizeof(*freeze.list), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (freeze.list == MAP_FAILED)
		return error_errno(err, ERROR_HOST, "memory for a watchdog");
	*ret_freeze = freeze;
	return 0;
}

void freeze_close(struct freeze *freeze)
{
	if (freeze->list)
		(void)munmap(freeze->list, sizeof(*freeze->list));
}

/* Nothing is halted before it watches. */
static int start_watchdog(struct freeze *freeze, uint64_t limit_ms, struct error *err)
{
	char byte;

	freeze->watchdog = child_fork(CHILD_TALKS, 0, &freeze->watchdog_fd, err);
	if (freeze->watchdog == 0)
		watch(freeze->list, freeze->watchdog_fd, (int)(limit_ms + WATCHDOG_SLACK_MS));
	if (freeze->watchdog < 0)
		return -1;
	if (fd_wait_until(freeze->watchdog_fd, POLLIN, clock_now_ns() + WATCHDOG_START_NS) > 0 &&
	    read(freeze->watchdog_fd, &byte, 1) == 1)
		return 0;
	fd_close(&freeze->watchdog_fd);
	child_end(freeze->watchdog);
	return error_set(err, ERROR_HOST, "a watchdog did not start");
}

static bool halt_all(struct freeze *freeze, const pid_t *pids, size_t count, uint64_t limit_ms)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	bool is_busy = true;

	for (size_t i = 0; i < count; i++)
		halt(freeze->list, pids[i]);
	for (unsigned i = 0; i < ROUNDS && is_busy; i++) {
		if (clock_now_ns() - freeze->began_ns > limit_ms * 1000000)
			break;
		is_busy = halt_children(freeze->list);
		if (is_busy)
			(void)nanosleep(&pause, NULL);
	}
	return !is_busy;
}

/* One that its user halted before must not go on when we are done. */
static bool is_halted(pid_t pid)
{
	struct process process;
	char name[16];

	(void)snprintf(name, sizeof(name), "%d", pid);
	return read_process(name, &process) && (process.state == 'T' || process.state == 't');
}

int freeze_begin(struct freeze *freeze, const pid_t *pids, size_t count, uint64_t limit_ms,
		 struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (is_halted(pids[i]))
			return error_set(err, ERROR_DENIED, "its process %d is halted already",
					 pids[i]);
	}
	freeze->list->count = 0;
	if (start_watchdog(freeze, limit_ms, err) < 0)
		return -1;
	freeze->began_ns = clock_now_ns();
	if (halt_all(freeze, pids, count, limit_ms))
		return 0;
	(void)freeze_end(freeze);
	return error_set(err, ERROR_BUSY, "its processes could not be halted in time");
}

uint64_t freeze_end(struct freeze *freeze)
{
	let_go_on(freeze->list);
	uint64_t took_us = (clock_now_ns() - freeze->began_ns) / 1000;

	fd_close(&freeze->watchdog_fd);
	child_end(freeze->watchdog);
	return took_us;
}

/* The files that PID has mapped to be written and shared. */
static void add_mapped(pid_t pid, struct strv *paths)
{
	char name[40];
	char *line = NULL;
	size_t room = 0;

	(void)snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	FILE *file = fopen(name, "re");

	while (file && getline(&line, &room, file) > 0) {
		char *at = strstr(line, " rw-s "), *path = at ? strchr(at, '/') : NULL;

		if (!path)
			continue;
		path[strcspn(path, "\n")] = '\0';
		strv_add(paths, path);
	}
	free(line);
	if (file)
		(void)fclose(file);
}

void freeze_mapped(const struct freeze *freeze, struct strv *ret_paths)
{
	for (size_t i = 0; i < freeze->list->count; i++)
		add_mapped(freeze->list->items[i].pid, ret_paths);
	strv_sort(ret_paths);
}
