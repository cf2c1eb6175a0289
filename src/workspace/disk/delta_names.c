/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a directory, from one or several real ones. */
#include "workspace/disk/delta_names.h"

#include "base/core/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

/* As the kernel lays it out. */
struct kernel_entry {
	uint64_t ino;
	int64_t offset;
	unsigned short len;
	unsigned char type;
	char name[];
};

void delta_names_done(struct delta_names *names)
{
	str_done(&names->text);
	free(names->items);
	*names = (struct delta_names){ 0 };
}

void delta_names_clear(struct delta_names *names)
{
	str_clear(&names->text);
	names->count = 0;
}

void delta_names_add(struct delta_names *names, const char *name, uint16_t first, uint8_t type)
{
	if (names->count == names->capacity) {
		names->capacity = names->capacity ? names->capacity * 2 : 16;
		names->items = xrealloc(names->items, names->capacity, sizeof(*names->items));
	}
	names->items[names->count++] =
		(struct delta_name){ .offset = names->text.len, .first = first, .type = type };
	str_add_bytes(&names->text, name, strlen(name) + 1);
}

const char *delta_names_get(const struct delta_names *names, size_t index)
{
	return names->text.data + names->items[index].offset;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static void add_entries(struct delta_names *names, const char *buffer, long len, uint16_t first)
{
	for (long at = 0; at < len;) {
		const struct kernel_entry *entry =
			(const struct kernel_entry *)(const void *)(buffer + at);

		if (!is_dots(entry->name))
			delta_names_add(names, entry->name, first, entry->type);
		at += entry->len;
	}
}

int delta_names_list(struct delta_names *names, int fd, uint16_t first, char *buffer, size_t size)
{
	owned(fd_close) int again = -1;
	long got = syscall(SYS_getdents64, fd, buffer, size);

	/* The base's are for asking only. */
	if (got < 0 && errno == EBADF) {
		again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = again;
		got = fd < 0 ? -1 : syscall(SYS_getdents64, fd, buffer, size);
	}
	for (; got > 0; got = syscall(SYS_getdents64, fd, buffer, size))
		add_entries(names, buffer, got, first);
	return got < 0 ? -1 : 0;
}

static int compare_names(const void *a, const void *b, void *text)
{
	const struct delta_name *one = a, *other = b;
	const char *bytes = text;
	int order = strcmp(bytes + one->offset, bytes + other->offset);

	return order ? order : (int)one->first - (int)other->first;
}

void delta_names_sort(struct delta_names *names)
{
	size_t kept = 0;

	if (names->count < 2)
		return;
	qsort_r(names->items, names->count, sizeof(*names->items), compare_names, names->text.data);
	for (size_t i = 1; i < names->count; i++) {
		if (strcmp(delta_names_get(names, i), delta_names_get(names, kept)) != 0)
			names->items[++kept] = names->items[i];
	}
	names->count = kept + 1;
}
