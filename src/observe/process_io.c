/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes below one have read and written. */
#include "observe/process_io.h"

#include "base/file/fd.h"
#include "base/core/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chain of parents longer than this is a circle that came from reading while processes ended. */
#define DEPTH_MAX 4096

static int64_t parent_of(int proc_fd, const char *name)
{
	char path[300], text[1024];
	const char *end;

	(void)snprintf(path, sizeof(path), "%s/stat", name);
	if (file_read_small(proc_fd, path, text, sizeof(text)) <= 0)
		return -1;
	/* "PID (NAME) STATE PARENT": the name may hold anything, the last bracket ends it. */
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? strtoll(end + 4, NULL, 10) : -1;
}

void process_list_read(struct process_list *ret_list)
{
	DIR *dir = opendir("/proc");

	*ret_list = (struct process_list){ 0 };
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		int64_t parent;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		parent = parent_of(dirfd(dir), entry->d_name);
		if (parent < 0)
			continue;
		ret_list->items =
			xrealloc(ret_list->items, ret_list->count + 1, sizeof(*ret_list->items));
		ret_list->items[ret_list->count++] =
			(struct process_entry){ strtoll(entry->d_name, NULL, 10), parent };
	}
	if (dir)
		(void)closedir(dir);
}

void process_list_done(struct process_list *list)
{
	free(list->items);
	*list = (struct process_list){ 0 };
}

/* The list is sorted by number, as /proc gives it. */
static int64_t find_parent(const struct process_list *list, int64_t pid)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].pid == pid)
			return list->items[middle].parent;
		if (list->items[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static int descends(const struct process_list *list, int64_t pid, int64_t top)
{
	for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
		if (pid == top)
			return 1;
		pid = find_parent(list, pid);
	}
	return 0;
}

static uint64_t field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

void process_io(const struct process_list *list, int64_t top, uint64_t ret_bytes[static 2])
{
	ret_bytes[0] = ret_bytes[1] = 0;
	for (size_t i = 0; i < list->count; i++) {
		char path[48], text[512];

		if (!descends(list, list->items[i].pid, top))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%lld/io", (long long)list->items[i].pid);
		if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
			continue;
		ret_bytes[0] += field(text, "\nread_bytes: ");
		ret_bytes[1] += field(text, "\nwrite_bytes: ");
	}
}
