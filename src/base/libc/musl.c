/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of base/libc/musl.h: nearly each is the kernel's of that name. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#undef faccessat

int close_range(unsigned int first, unsigned int last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

int fsconfig(int fd, unsigned int command, const char *key, const void *value, int more)
{
	return (int)syscall(SYS_fsconfig, fd, command, key, value, more);
}

int fsmount(int fd, unsigned int flags, unsigned int attributes)
{
	return (int)syscall(SYS_fsmount, fd, flags, attributes);
}

int fsopen(const char *name, unsigned int flags)
{
	return (int)syscall(SYS_fsopen, name, flags);
}

int mount_setattr(int dir_fd, const char *path, unsigned int flags, struct mount_attr *attributes,
		  size_t size)
{
	return (int)syscall(SYS_mount_setattr, dir_fd, path, flags, attributes, size);
}

int move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	return (int)syscall(SYS_move_mount, from_fd, from, to_fd, to, flags);
}

int open_tree(int dir_fd, const char *path, unsigned int flags)
{
	return (int)syscall(SYS_open_tree, dir_fd, path, flags);
}

/* The kernel takes the offset in two halves; on machines of 64 bits the first holds all of it. */
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	return syscall(SYS_pwritev2, fd, parts, count, offset, (uint64_t)offset >> 32, flags);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int statx(int dir_fd, const char *restrict path, int flags, unsigned int mask,
	  struct statx *restrict ret_status)
{
	return (int)syscall(SYS_statx, dir_fd, path, flags, mask, ret_status);
}

const char *strerrordesc_np(int number)
{
	return number >= 0 && number < MUSL_WORDS ? musl_words[number] : NULL;
}

int musl_faccessat(int dir_fd, const char *path, int mode, int flags)
{
	struct stat st;
	int got = faccessat(dir_fd, path, mode, flags);

	if (got < 0 && errno == EINVAL && mode == F_OK && flags == AT_SYMLINK_NOFOLLOW)
		return fstatat(dir_fd, path, &st, flags);
	return got;
}
