/* SPDX-License-Identifier: Apache-2.0 */
/* The secrets of a sandbox as it sees them. */
#include "launch/setup/secret_files.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define PLACE "/run/secrets"

/* Programs inside may have put something else there: a link to a place that is kept would keep the secret. */
int secret_files_open(int *ret_dir_fd, struct error *err)
{
	owned(fd_close) int fd = open(PLACE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return error_errno(err, ERROR_HOST, "no place for secrets at " PLACE);
	if (fs.f_type != TMPFS_MAGIC)
		return error_set(err, ERROR_DENIED,
				 PLACE " inside is not in memory any more: stop the sandbox first");
	*ret_dir_fd = fd_take(&fd);
	return 0;
}

int secret_files_put(int dir_fd, const struct secrets *secrets, struct error *err)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->items[i];

		if (secret->name[0] == '$' || secret_is_injected(secret))
			continue;
		if (unlinkat(dir_fd, secret->name, 0) < 0 && errno != ENOENT)
			return error_errno(err, ERROR_HOST, PLACE "/%s", secret->name);
		owned(fd_close) int fd =
			openat(dir_fd, secret->name,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);

		if (fd < 0 || fd_write_all(fd, secret->bytes, secret->len) < 0)
			return error_errno(err, ERROR_HOST, PLACE "/%s", secret->name);
	}
	return 0;
}
