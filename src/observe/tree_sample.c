/* Live figures of a tree of processes, read from /proc. */
#include "observe/tree_sample.h"

#include "base/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 4096

static ssize_t read_proc(pid_t pid, const char *file, char *buffer, size_t size)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, buffer, size - 1);

	buffer[got > 0 ? got : 0] = '\0';
	return got;
}

/* Appends the children of every thread's leader; a process started by another thread is listed there as well. */
static size_t add_children(pid_t pid, pid_t *queue, size_t count)
{
	char file[48], text[16384];

	(void)snprintf(file, sizeof(file), "task/%d/children", pid);
	if (read_proc(pid, file, text, sizeof(text)) <= 0)
		return count;
	for (char *at = text; *at && count < PROCESSES_MAX;) {
		char *end;
		long child = strtol(at, &end, 10);

		if (end == at)
			break;
		queue[count++] = (pid_t)child;
		at = end + strspn(end, " \n");
	}
	return count;
}

/* Fields behind the command's name, which may hold blanks and brackets: utime 14, stime 15, threads 20. */
static void add_stat(pid_t pid, struct tree_usage *usage)
{
	unsigned long long user = 0, system = 0, threads = 0;
	char text[1024];

	if (read_proc(pid, "stat", text, sizeof(text)) <= 0)
		return;
	const char *rest = strrchr(text, ')');

	if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d "
				  "%*d %*d %llu",
			    &user, &system, &threads) != 3)
		return;
	usage->cpu_us += (user + system) * 1000000 / (unsigned long long)sysconf(_SC_CLK_TCK);
	usage->tasks += threads;
}

static void add_memory(pid_t pid, struct tree_usage *usage)
{
	unsigned long long resident = 0, shared = 0;
	char text[256];

	if (read_proc(pid, "statm", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*u %llu %llu", &resident, &shared) != 2)
		return;
	usage->memory_bytes += (resident - (shared < resident ? shared : resident)) *
			       (unsigned long long)sysconf(_SC_PAGESIZE);
}

void tree_sample(pid_t root, struct tree_usage *ret_usage)
{
	pid_t *queue = malloc(PROCESSES_MAX * sizeof(*queue));
	size_t count;

	memset(ret_usage, 0, sizeof(*ret_usage));
	if (!queue)
		return;
	count = add_children(root, queue, 0);
	for (size_t i = 0; i < count; i++) {
		add_stat(queue[i], ret_usage);
		add_memory(queue[i], ret_usage);
		count = add_children(queue[i], queue, count);
	}
	free(queue);
}
