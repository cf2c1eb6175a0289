/* SPDX-License-Identifier: Apache-2.0 */
/* What --ro, --rw and --rw-through ask for: checked once, and mounted as it was checked. */
#include "confine/root/root_unit.h"

#include "base/core/own.h"
#include "confine/root/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Refuses sources that are not what the user can have meant: links, fifos, devices. */
static int check_source(const struct spec_bind *bind, struct stat *ret_st, int *ret_fd,
			struct error *err)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	owned(fd_close) int fd =
		(int)syscall(SYS_openat2, AT_FDCWD, bind->source, &how, sizeof(how));

	if (fd < 0 && errno == ELOOP)
		return error_advise(err, ERROR_DENIED, "name the real path",
				    "%s: has a symbolic link in it", bind->source);
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return error_errno(err, ERROR_INPUT, "%s", bind->source);
	if (!S_ISDIR(ret_st->st_mode) && !S_ISREG(ret_st->st_mode))
		return error_set(err, ERROR_DENIED, "%s: only directories and files can be mounted",
				 bind->source);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* An O_PATH descriptor for reading. */
static int reopen(int fd)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* One call copies 2 GiB at most. A file that has become shorter meanwhile is copied as it is. */
static int copy_bytes(int from, int to, off_t size)
{
	while (size > 0) {
		ssize_t sent = sendfile(to, from, NULL, (size_t)size);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return (int)sent;
		size -= sent;
	}
	return 0;
}

/* A single file cannot be an overlay: its copy-on-write form is a copy in the writable layer. */
static int add_file_copy(struct root_builder *builder, const struct spec_bind *bind, off_t size,
			 struct error *err)
{
	char name[24];

	(void)snprintf(name, sizeof(name), "f%zu", builder->parts->count);
	owned(fd_close) int from = reopen(builder->source_fd);
	owned(fd_close) int to = openat(builder->parts->upper_fd, name,
					O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	owned(fd_close) int fd = -1;
	const struct spec_ids *ids = &builder->spec->ids;

	if (from < 0 || to < 0 || copy_bytes(from, to, size) < 0)
		return error_errno(err, ERROR_HOST, "copy of %s", bind->source);
	if (builder->userns_fd >= 0 &&
	    fchown(to, ids->host_uid + ids->uid, ids->host_gid + ids->gid) < 0)
		return error_errno(err, ERROR_HOST, "copy of %s", bind->source);
	if (unit_clone_stored(builder, name, &fd, err) < 0)
		return -1;
	return unit_add_part(builder, fd_take(&fd), bind->target, err);
}

int root_check_binds(const struct spec *spec, struct error *err)
{
	for (size_t i = 0; i < spec->bind_count; i++) {
		const struct spec_bind *bind = &spec->binds[i];
		owned(fd_close) int fd = -1;
		struct stat st;

		if (check_source(bind, &st, &fd, err) < 0)
			return -1;
		if (st.st_uid != 0 && st.st_uid != geteuid() && !bind->stored)
			return error_set(err, ERROR_DENIED, "%s: belongs to another user (uid %u)",
					 bind->source, st.st_uid);
	}
	return 0;
}

int unit_add_bind(struct root_builder *builder, const char *source, const char *target,
		  uint64_t attributes, struct error *err)
{
	owned(fd_close) int fd = -1;
	struct error ignored;

	if (unit_clone_source(builder, source, &fd, err) < 0 ||
	    mount_attributes(fd, attributes | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err) < 0)
		return -1;
	/* Not every filesystem can be idmapped; then its files keep ids that are unmapped inside. */
	if (builder->userns_fd >= 0)
		(void)mount_idmap(fd, builder->userns_fd, &ignored);
	return unit_add_part(builder, fd_take(&fd), target, err);
}

static int add_bind(struct root_builder *builder, const struct spec_bind *bind,
		    const struct stat *st, struct error *err)
{
	bool is_directory = S_ISDIR(st->st_mode);

	if (bind->writable && bind->through)
		return unit_add_bind(builder, bind->source, bind->target, 0, err);
	if (bind->writable && is_directory)
		return unit_add_overlay(builder, bind->source, bind->target, true, err);
	if (bind->writable)
		return add_file_copy(builder, bind, st->st_size, err);
	if (is_directory)
		return unit_add_view(builder, bind->source, bind->target, err);
	return unit_add_bind(builder, bind->source, bind->target, MOUNT_ATTR_RDONLY, err);
}

int unit_add_binds(struct root_builder *builder, struct error *err)
{
	for (size_t i = 0; i < builder->spec->bind_count; i++) {
		const struct spec_bind *bind = &builder->spec->binds[i];
		owned(fd_close) int fd = -1;
		struct stat st;
		int status;

		if (check_source(bind, &st, &fd, err) < 0)
			return -1;
		/* From here on what was checked is used, whatever the path leads to by now. */
		builder->source_fd = fd;
		status = add_bind(builder, bind, &st, err);
		builder->source_fd = -1;
		if (status < 0)
			return error_context(err, "mount of %s at %s", bind->source, bind->target);
	}
	return 0;
}
