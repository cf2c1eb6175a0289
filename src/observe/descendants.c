/* SPDX-License-Identifier: Apache-2.0 */
/* All processes below one, found by the kernel's lists of children. */
#include "observe/descendants.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/dir.h"
#include "base/file/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* More than a sandbox may have by far. */
#define LIST_BYTES ((size_t)1 << 20)
#define COUNT_MAX 65536u

struct found {
	pid_t *items;
	size_t count, room;
};

bool descendants_are_known(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
	return access(path, R_OK) == 0;
}

static void add(struct found *found, pid_t pid)
{
	if (found->count == found->room) {
		found->room = found->room ? 2 * found->room : 64;
		found->items = xrealloc(found->items, found->room, sizeof(*found->items));
	}
	found->items[found->count++] = pid;
}

/* The children that one thread has started, or adopted. */
static void add_children(struct found *found, int task_fd, const char *thread)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;
	char name[32];

	(void)snprintf(name, sizeof(name), "%.15s/children", thread);
	fd = openat(task_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fd_read_all(fd, LIST_BYTES, &text) < 0)
		return;
	for (const char *at = str_cstr(&text); found->count < COUNT_MAX;) {
		char *end = NULL;
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0)
			return;
		add(found, (pid_t)pid);
		at = end;
	}
}

void descendants_visit(pid_t pid, void (*visit)(pid_t pid, void *cookie), void *cookie)
{
	struct found found = { 0 };

	add(&found, pid);
	for (size_t i = 0; i < found.count; i++) {
		char path[32];

		if (i > 0)
			visit(found.items[i], cookie);
		(void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)found.items[i]);
		owned(dir_close) DIR *threads = dir_open(AT_FDCWD, path);
		struct dirent *entry;

		while (threads && dir_next(threads, &entry) > 0)
			add_children(&found, dirfd(threads), entry->d_name);
	}
	free(found.items);
}

static void sample_one(pid_t pid, void *cookie)
{
	struct tree_usage *usage = cookie;
	char path[32];

	(void)snprintf(path, sizeof(path), "%ld", (long)pid);
	owned(fd_close) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	tree_sample_one(proc_fd, path, usage);
}

void descendants_sample(pid_t pid, struct tree_usage *ret_usage)
{
	*ret_usage = (struct tree_usage){ 0 };
	descendants_visit(pid, sample_one, ret_usage);
}
