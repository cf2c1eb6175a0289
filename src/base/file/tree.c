/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing whole directories without recursion.
 *
 * What is removed was written by hostile programs: directories may be nested deeper than any stack, or closed to
 * their owner. So nothing is descended into: a directory found in a directory is lifted to the top first, until
 * there is only one level left.
 */
#include "base/file/tree.h"

#include "base/file/dir.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct removal {
	int top_fd;
	unsigned lifted; /* names given so far */
	bool moved;	 /* this pass removed or lifted something */
};

/* Gives the owner back what an overlay's work directory, or a payload, took away. */
static void open_up(int dir_fd, const char *name)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[32];

	if (fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)chmod(path, 0700);
}

/* Whether NAME is gone: anything but a directory that holds something. */
static bool remove_simple(int dir_fd, const char *name)
{
	return unlinkat(dir_fd, name, 0) == 0 || unlinkat(dir_fd, name, AT_REMOVEDIR) == 0;
}

static bool is_taken(int number)
{
	return number == ENOTEMPTY || number == EEXIST || number == ENOTDIR;
}

/* Names may be taken: by a removal that was killed, or on purpose. */
static void lift(struct removal *removal, int dir_fd, const char *name)
{
	char above[32];
	int status;

	/* Moving a directory changes its own entry for the parent, so it must be writable. */
	open_up(dir_fd, name);
	do {
		(void)snprintf(above, sizeof(above), ".lifted-%u", removal->lifted++);
		status = renameat(dir_fd, name, removal->top_fd, above);
	} while (status < 0 && is_taken(errno));
	if (status == 0)
		removal->moved = true;
}

/* Empties NAME of the top directory, lifting what does not go at once. */
static void clear_directory(struct removal *removal, const char *name)
{
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;

	open_up(removal->top_fd, name);
	dir = dir_open(removal->top_fd, name);
	while (dir_next(dir, &entry) > 0) {
		if (remove_simple(dirfd(dir), entry->d_name))
			removal->moved = true;
		else
			lift(removal, dirfd(dir), entry->d_name);
	}
	if (unlinkat(removal->top_fd, name, AT_REMOVEDIR) == 0)
		removal->moved = true;
}

int tree_remove(int dir_fd, const char *name)
{
	struct removal removal = { .moved = true };
	owned(dir_close) DIR *top = NULL;
	struct dirent *entry;

	if (remove_simple(dir_fd, name))
		return 0;
	open_up(dir_fd, name);
	top = dir_open(dir_fd, name);
	if (!top)
		return -1;
	removal.top_fd = dirfd(top);
	/* Lifting adds entries while they are read, so passes go on as long as one of them got somewhere. */
	while (removal.moved) {
		removal.moved = false;
		rewinddir(top);
		while (dir_next(top, &entry) > 0) {
			if (remove_simple(removal.top_fd, entry->d_name))
				removal.moved = true;
			else
				clear_directory(&removal, entry->d_name);
		}
	}
	return unlinkat(dir_fd, name, AT_REMOVEDIR);
}
