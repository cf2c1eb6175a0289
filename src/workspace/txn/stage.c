/* SPDX-License-Identifier: Apache-2.0 */
/* Copying one object to a slot: content first, then attributes, owner, mode and times, in the order in which none undoes another. */
#include "workspace/txn/stage.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COPY_STEP (1u << 30)
#define BUFFER_SIZE (64u << 10)

/* AT and LEN of a stretch that is not a hole. */
struct extent {
	off_t at, len;
};

static int copy_by_hand(int to, int from, struct extent part)
{
	owned(free_ptr) char *buffer = xmalloc(BUFFER_SIZE);

	if (lseek(to, part.at, SEEK_SET) < 0)
		return -1;
	while (part.len > 0) {
		size_t want = part.len < (off_t)BUFFER_SIZE ? (size_t)part.len : BUFFER_SIZE;
		ssize_t got = pread(from, buffer, want, part.at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || sys_write_all(to, buffer, (size_t)got) < 0)
			return -1;
		if (got == 0)
			return 0;
		part.at += got;
		part.len -= got;
	}
	return 0;
}

static int copy_extent(int to, int from, struct extent part)
{
	while (part.len > 0) {
		off_t in = part.at, out = part.at;
		ssize_t done = sys_copy_file_range(from, &in, to, &out,
						   part.len < (off_t)COPY_STEP ? (size_t)part.len
									       : COPY_STEP);

		/* Between some filesystems, and of some kinds of files, the kernel does not copy. */
		if (done < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS ||
				 errno == EOPNOTSUPP || errno == EBADF))
			return copy_by_hand(to, from, part);
		if (done < 0)
			return -1;
		if (done == 0)
			return copy_by_hand(to, from, part);
		part.at += done;
		part.len -= done;
	}
	return 0;
}

static int copy_extents(int to, int from, off_t size)
{
	off_t at = 0;

	while (at < size) {
		off_t start = lseek(from, at, SEEK_DATA);

		if (start < 0 && errno == ENXIO)
			break;
		off_t end = start < 0 ? size : lseek(from, start, SEEK_HOLE);

		if (start < 0)
			start = at;
		if (end < 0 || end > size)
			end = size;
		if (copy_extent(to, from, (struct extent){ start, end - start }) < 0)
			return -1;
		at = end;
	}
	/* A hole at the end is only a length. */
	return sys_ftruncate(to, size);
}

static int copy_content(int to, int from)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return -1;
	/* Small ones are copied faster than shared, and take no extent of their own. */
	if (st.st_size > (off_t)BUFFER_SIZE && sys_clone_range(to, from) == 0)
		return 0;
	if (st.st_size <= (off_t)BUFFER_SIZE && st.st_blocks * 512 >= st.st_size)
		return copy_by_hand(to, from, (struct extent){ 0, st.st_size });
	return copy_extents(to, from, st.st_size);
}

static int set_xattrs(int fd, const struct stage_meta *meta)
{
	for (size_t i = 0; meta->xattrs && i < meta->xattrs->count; i++) {
		const struct xattr_item *item = &meta->xattrs->items[i];

		if (sys_fsetxattr(fd, item->name, item->value, item->len) < 0)
			return -1;
	}
	return 0;
}

/* Owner before mode (chown takes setuid away) and before capabilities (likewise); times last. */
static int finish_fd(int fd, const struct stage_meta *meta)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, meta->mtime };

	if (meta->set_owner && sys_fchownat(fd, "", meta->uid, meta->gid, AT_EMPTY_PATH) < 0)
		return -1;
	if (set_xattrs(fd, meta) < 0 || sys_fchmod(fd, meta->mode & 07777) < 0)
		return -1;
	return sys_utimensat(fd, NULL, times, 0);
}

static int failed(const char *what, struct error *err)
{
	return error_errno(err, ERROR_HOST, "cannot stage %s", what);
}

/* A new file, closed to others until it is complete. */
static int create(int dir_fd, const char *name)
{
	return sys_openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

int stage_file(int dir_fd, const char *name, int from_fd, const struct stage_meta *meta,
	       struct error *err)
{
	owned(fd_close) int fd = create(dir_fd, name);

	if (fd < 0 || copy_content(fd, from_fd) < 0 || finish_fd(fd, meta) < 0)
		return failed("a file", err);
	return 0;
}

int stage_bytes(int dir_fd, const char *name, const void *bytes, size_t len,
		const struct stage_meta *meta, struct error *err)
{
	owned(fd_close) int fd = create(dir_fd, name);

	if (fd < 0 || sys_write_all(fd, bytes, len) < 0 || finish_fd(fd, meta) < 0)
		return failed("a file", err);
	return 0;
}

/* What cannot be opened without side effects is reached by name; it is new, and in a directory of ours. */
static int finish_name(int dir_fd, const char *name, const struct stage_meta *meta)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, meta->mtime };
	owned(free_ptr) char *path = xasprintf("/proc/self/fd/%d/%s", dir_fd, name);

	if (meta->set_owner &&
	    sys_fchownat(dir_fd, name, meta->uid, meta->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	for (size_t i = 0; meta->xattrs && i < meta->xattrs->count; i++) {
		const struct xattr_item *item = &meta->xattrs->items[i];

		if (sys_lsetxattr(path, item->name, item->value, item->len) < 0)
			return -1;
	}
	return sys_utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW);
}

int stage_link(int dir_fd, const char *name, const char *target, const struct stage_meta *meta,
	       struct error *err)
{
	if (sys_symlinkat(target, dir_fd, name) < 0 || finish_name(dir_fd, name, meta) < 0)
		return failed("a link", err);
	return 0;
}

int stage_directory(int dir_fd, const char *name, struct error *err)
{
	return sys_mkdirat(dir_fd, name, 0700) < 0 ? failed("a directory", err) : 0;
}

int stage_finish_directory(int dir_fd, const char *name, const struct stage_meta *meta,
			   struct error *err)
{
	owned(fd_close) int fd = sys_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd < 0 || finish_fd(fd, meta) < 0)
		return failed("a directory", err);
	return 0;
}

static int stage_node(int dir_fd, const char *name, dev_t dev, const struct stage_meta *meta)
{
	/* Set the mode explicitly, whatever the umask, and before the owner: afterwards only the new owner could. */
	if (sys_mknodat(dir_fd, name, (meta->mode & S_IFMT) | 0600, dev) < 0 ||
	    sys_fchmodat(dir_fd, name, meta->mode & 07777) < 0)
		return -1;
	return finish_name(dir_fd, name, meta);
}

int stage_fifo(int dir_fd, const char *name, const struct stage_meta *meta, struct error *err)
{
	struct stage_meta fifo = *meta;

	fifo.mode = S_IFIFO | (meta->mode & 07777);
	return stage_node(dir_fd, name, 0, &fifo) < 0 ? failed("a fifo", err) : 0;
}

int stage_device(int dir_fd, const char *name, dev_t dev, const struct stage_meta *meta,
		 struct error *err)
{
	return stage_node(dir_fd, name, dev, meta) < 0 ? failed("a device node", err) : 0;
}
