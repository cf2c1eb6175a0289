/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the promotion engine, each through one point where a test can let it fail. */
#include "workspace/disk/sys.h"

#include "base/core/own.h"
#include "base/file/tree.h"
#include "workspace/disk/sys_fault.h"

#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The call, unless a test wants it to fail; again as long as a signal interrupts it. */
#define SYS(call)                                             \
	({                                                    \
		__typeof__(call) got_;                        \
		do                                            \
			got_ = sys_fault() < 0 ? -1 : (call); \
		while (got_ < 0 && errno == EINTR);           \
		got_;                                         \
	})

int sys_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
	return SYS(openat(dir_fd, path, flags | O_CLOEXEC, mode));
}

static int open_part(int dir_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	/* EAGAIN: something was renamed meanwhile, and the kernel could not be sure to have stayed beneath. */
	for (int tries = 0; tries < 32; tries++) {
		fd = (int)SYS(syscall(SYS_openat2, dir_fd, path, &how, sizeof(how)));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

int sys_open_beneath(int dir_fd, const char *path, int flags)
{
	owned(fd_close) int above = -1;

	while (strlen(path) >= PATH_MAX) {
		char part[PATH_MAX];
		const char *slash = memrchr(path, '/', PATH_MAX - 1);

		if (!slash) {
			errno = ENAMETOOLONG;
			return -1;
		}
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		int next = open_part(above < 0 ? dir_fd : above, part, O_PATH | O_DIRECTORY);

		fd_close(&above);
		above = next;
		if (above < 0)
			return -1;
		path = slash + 1;
	}
	return open_part(above < 0 ? dir_fd : above, path, flags);
}

ssize_t sys_write(int fd, const void *bytes, size_t len)
{
	return SYS(write(fd, bytes, sys_fault_len(len)));
}

int sys_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t done = sys_write(fd, at, len);

		if (done < 0)
			return -1;
		at += done;
		len -= (size_t)done;
	}
	return 0;
}

ssize_t sys_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t len)
{
	return SYS(copy_file_range(from, from_at, to, to_at, sys_fault_len(len), 0));
}

int sys_clone_range(int to, int from)
{
	return SYS(ioctl(to, FICLONE, from));
}

int sys_ftruncate(int fd, off_t len)
{
	return SYS(ftruncate(fd, len));
}

int sys_mkdirat(int dir_fd, const char *path, mode_t mode)
{
	return SYS(mkdirat(dir_fd, path, mode));
}

int sys_symlinkat(const char *target, int dir_fd, const char *path)
{
	return SYS(symlinkat(target, dir_fd, path));
}

int sys_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	return SYS(linkat(from_fd, from, to_fd, to, flags));
}

int sys_mknodat(int dir_fd, const char *path, mode_t mode, dev_t dev)
{
	return SYS(mknodat(dir_fd, path, mode, dev));
}

int sys_unlinkat(int dir_fd, const char *path, int flags)
{
	return SYS(unlinkat(dir_fd, path, flags));
}

int sys_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	bool is_unknown = flags && sys_fault_noexchange();

	if (is_unknown || sys_fault_exdev(from_fd, to_fd)) {
		errno = is_unknown ? EINVAL : EXDEV;
		return -1;
	}
	int got = SYS(renameat2(from_fd, from, to_fd, to, flags));

	if (got == 0)
		sys_fault_note_rename(from_fd, from, to_fd, to, flags);
	return got;
}

int sys_fchmod(int fd, mode_t mode)
{
	return SYS(fchmod(fd, mode));
}

int sys_fchmodat(int dir_fd, const char *path, mode_t mode)
{
	return SYS(fchmodat(dir_fd, path, mode, 0));
}

int sys_fchownat(int dir_fd, const char *path, uid_t uid, gid_t gid, int flags)
{
	return SYS(fchownat(dir_fd, path, uid, gid, flags));
}

int sys_utimensat(int dir_fd, const char *path, const struct timespec times[2], int flags)
{
	/* Without a path it is futimens, which the libc's utimensat refuses. */
	return (int)SYS(syscall(SYS_utimensat, dir_fd, path, times, flags));
}

int sys_fsetxattr(int fd, const char *name, const void *value, size_t len)
{
	return SYS(fsetxattr(fd, name, value, len, 0));
}

int sys_fremovexattr(int fd, const char *name)
{
	return SYS(fremovexattr(fd, name));
}

int sys_lsetxattr(const char *path, const char *name, const void *value, size_t len)
{
	return SYS(lsetxattr(path, name, value, len, 0));
}

static int noted(const char *what, int fd, int got)
{
	if (got == 0 && !sys_fault_nosync())
		sys_fault_note_sync(what, fd);
	return got;
}

int sys_fsync(int fd)
{
	return noted("sync", fd, SYS(sys_fault_nosync() ? 0 : fsync(fd)));
}

int sys_fdatasync(int fd)
{
	return noted("sync", fd, SYS(sys_fault_nosync() ? 0 : fdatasync(fd)));
}

int sys_syncfs(int fd)
{
	return noted("syncfs", fd, SYS(sys_fault_nosync() ? 0 : syncfs(fd)));
}

void sys_start_writing(int fd)
{
	if (!sys_fault_nosync())
		(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int sys_remove_tree(int dir_fd, const char *name)
{
	int got = SYS(tree_remove(dir_fd, name));

	return got < 0 && errno == ENOENT ? 0 : got;
}
