/* SPDX-License-Identifier: Apache-2.0 */
/* Reading directories: every entry once, nothing through links, a failure told from the end. */
#include "base/file/dir.h"
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <unistd.h>

#define FILES 300 /* more than one read of the kernel gives */

static int count(DIR *dir, bool *ret_dots)
{
	struct dirent *entry;
	int found = 0;

	*ret_dots = false;
	while (dir_next(dir, &entry) > 0) {
		found++;
		*ret_dots |= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	}
	return found;
}

int main(void)
{
	struct scratch scratch;
	struct dirent *entry = NULL;
	bool has_dots;

	scratch_open(&scratch);
	for (int i = 0; i < FILES; i++) {
		owned(free_ptr) char *name =
			xasprintf("full/...a-rather-long-name-of-a-file-%d", i);

		free(scratch_write(&scratch, name, ""));
	}
	scratch_mkdir(&scratch, "empty");

	owned(fd_close) int fd = open(scratch.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned(fd_close) int full_fd = openat(fd, "full", O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned(dir_close) DIR *full = dir_open(fd, "full");
	owned(dir_close) DIR *again = dir_open(full_fd, ".");
	owned(dir_close) DIR *empty = dir_open(fd, "empty");

	tap_is_int(count(full, &has_dots), FILES, "every entry is given once");
	tap_ok(!has_dots, "the directory itself and its parent are not");
	tap_is_int(count(again, &has_dots), FILES,
		   "\".\" reads a directory known by its path only");
	tap_is_int(dir_next(empty, &entry), 0, "an empty directory is at its end");
	tap_ok(!entry, "and gives no entry");

	(void)symlinkat("full", fd, "link");
	tap_ok(!dir_open(fd, "link") && errno == ENOTDIR, "a link is not followed");
	tap_ok(!dir_open(fd, "missing") && errno == ENOENT, "what is not there is an error");
	tap_is_int(dir_next(NULL, &entry), -1, "which reading on does not hide");

	dir_close(&full);
	dir_close(&again);
	dir_close(&empty);
	fd_close(&full_fd);
	fd_close(&fd);
	scratch_close(&scratch);
	return tap_done();
}
