/* SPDX-License-Identifier: Apache-2.0 */
/* Kept output on disk: listed, and held to its bounds. */
#include "history/log_files.h"

#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void log_files_done(struct log_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].name);
	free(files->items);
	free(files->live_dir);
	fd_close(&files->dir_fd);
}

static int by_name(const void *left, const void *right)
{
	const struct log_file *a = left, *b = right;

	return strcmp(a->name, b->name);
}

void log_files_read(const char *state_dir, struct log_files *ret_files)
{
	owned(free_ptr) char *path = xasprintf("%s/logs", state_dir);
	owned(dir_close) DIR *dir = opendir(path);
	struct dirent *entry;
	struct stat st;

	*ret_files = (struct log_files){ .dir_fd = -1 };
	if (!dir)
		return;
	ret_files->live_dir = xasprintf("%s/live", state_dir);
	ret_files->dir_fd = fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 3);
	while (dir_next(dir, &entry) > 0) {
		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ret_files->items =
			xrealloc(ret_files->items, ret_files->count + 1, sizeof(struct log_file));
		ret_files->items[ret_files->count++] =
			(struct log_file){ xstrdup(entry->d_name), (uint64_t)st.st_blocks * 512 };
		ret_files->bytes += (uint64_t)st.st_blocks * 512;
	}
	if (ret_files->count)
		qsort(ret_files->items, ret_files->count, sizeof(struct log_file), by_name);
}

/* A supervisor keeps a file under live/ for a run that takes longer than a moment. */
bool log_files_is_live(const struct log_files *files, const char *name)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", files->live_dir, name);

	return access(path, F_OK) == 0;
}

void log_files_trim(const struct log_files *files, const struct log_bounds *bounds,
		    struct log_removed *removed)
{
	uint64_t bytes = files->bytes, count = files->count;

	for (size_t i = 0; i < files->count; i++) {
		const struct log_file *file = &files->items[i];

		if ((!bounds->bytes || bytes <= bounds->bytes) &&
		    (!bounds->count || count <= bounds->count))
			break;
		if (log_files_is_live(files, file->name) ||
		    unlinkat(files->dir_fd, file->name, 0) < 0)
			continue;
		bytes -= file->bytes;
		count--;
		removed->bytes += file->bytes;
		removed->count++;
	}
}
