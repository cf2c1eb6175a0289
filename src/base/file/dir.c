/* SPDX-License-Identifier: Apache-2.0 */
/* Reading directories. */
#include "base/file/dir.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

DIR *dir_open(int dir_fd, const char *name)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return dir_take(&fd);
}

DIR *dir_take(int *fd)
{
	DIR *dir = *fd < 0 ? NULL : fdopendir(*fd);

	if (dir)
		(void)fd_take(fd);
	return dir;
}

static bool is_itself_or_parent(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

int dir_next(DIR *dir, struct dirent **ret_entry)
{
	struct dirent *entry;

	if (!dir)
		return -1;
	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && is_itself_or_parent(entry->d_name));
	if (!entry)
		return errno ? -1 : 0;
	*ret_entry = entry;
	return 1;
}

void dir_close(DIR **dir)
{
	int kept = errno;

	if (*dir)
		(void)closedir(*dir);
	*dir = NULL;
	errno = kept;
}

int dir_make_all(const char *path)
{
	owned(free_ptr) char *copy = xstrdup(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return mkdir(copy, 0700) < 0 && errno != EEXIST ? -1 : 0;
}
