/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of the two sides and their digests; each is read only when needed. */
#include "workspace/promote/promote_parts.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/disk/digest.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

int promote_open_theirs(const struct promote *promote, const struct item *item, struct error *err)
{
	int fd = delta_open_side(promote->stack, &item->entry.new);
	char shown[STR_SHOWN_SIZE];

	if (fd < 0 && errno == ESTALE)
		return error_set(err, ERROR_CONFLICT, "'%s' changed in the sandbox meanwhile",
				 str_shown(item->path, shown));
	if (fd < 0 && errno == EACCES)
		return error_set(
			err, ERROR_DENIED,
			"'%s' of the sandbox may not be read, so it cannot be promoted: open it "
			"there first (chmod u+r)",
			str_shown(item->path, shown));
	return fd >= 0 ? fd
		       : error_errno(err, ERROR_HOST, "cannot read the sandbox's '%s'",
				     str_shown(item->path, shown));
}

int promote_open_ours(const struct promote *promote, const struct item *item, struct error *err)
{
	int fd = target_open_file(promote->target_fd, item->place, &item->now);
	char shown[STR_SHOWN_SIZE];

	if (fd < 0 && (errno == ESTALE || errno == ELOOP || errno == ENOENT || errno == ENOTDIR))
		return error_set(err, ERROR_CONFLICT, "'%s' is being changed this moment",
				 str_shown(item->path, shown));
	return fd >= 0 ? fd
		       : error_errno(err, ERROR_HOST, "cannot read '%s'",
				     str_shown(item->path, shown));
}

static int digest(int fd, const struct item *item, char ret_hex[static SHA256_HEX_SIZE],
		  struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (digest_fd(fd, ret_hex) < 0)
		return error_errno(err, ERROR_HOST, "cannot read '%s'",
				   str_shown(item->path, shown));
	return 0;
}

int promote_digest_theirs(const struct promote *promote, struct item *item, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (item->new_sha256[0] || !item->entry.new.exists || !S_ISREG(item->entry.new.st.st_mode))
		return 0;
	fd = promote_open_theirs(promote, item, err);
	return fd < 0 ? -1 : digest(fd, item, item->new_sha256, err);
}

int promote_digest_ours(const struct promote *promote, struct item *item, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (item->now_sha256[0] || target_type(&item->now) != 'f')
		return 0;
	fd = promote_open_ours(promote, item, err);
	return fd < 0 ? -1 : digest(fd, item, item->now_sha256, err);
}

int promote_keep(const struct promote *promote, const char *hex, struct error *err)
{
	owned(fd_close) int fd =
		openat(promote->sandbox->dir_fd, "losers",
		       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	owned(free_ptr) char *line = xasprintf("%s\n", hex);

	if (fd < 0 || fd_write_all(fd, line, strlen(line)) < 0)
		return error_errno(err, ERROR_HOST, "cannot note what lost a conflict");
	return 0;
}

dev_t promote_device(const struct item *item)
{
	return item->content == CONTENT_OURS ? (dev_t)item->now.size : item->entry.new.st.st_rdev;
}
