/* SPDX-License-Identifier: Apache-2.0 */
/* Small lists of lines that the user keeps in a directory of their own. */
#include "app/config/own_list.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_BYTES (1024 * 1024)
#define NAME_SIZE 64

int own_list_read(int dir_fd, const char *name, struct str *ret_text)
{
	struct stat st;
	owned(fd_close) int fd = file_open(dir_fd, name, O_NOFOLLOW, &st);

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (st.st_uid != geteuid() || (st.st_mode & 022)) {
		errno = EPERM;
		return -1;
	}
	return fd_read_all(fd, LIST_BYTES, ret_text);
}

int own_list_replace(int dir_fd, const char *name, const struct str *text)
{
	char new_name[NAME_SIZE];
	owned(fd_close) int fd = -1;

	(void)snprintf(new_name, sizeof(new_name), "%s.new", name);
	/* What a dead process left; the lock proves that it is not being written now. */
	if (unlinkat(dir_fd, new_name, 0) < 0 && errno != ENOENT)
		return -1;
	fd = openat(dir_fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, str_cstr(text), text->len) < 0 || fsync(fd) < 0)
		return -1;
	return renameat(dir_fd, new_name, dir_fd, name);
}
