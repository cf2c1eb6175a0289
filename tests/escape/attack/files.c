/* SPDX-License-Identifier: Apache-2.0 */
/* Filesystem isolation, part one: every way to change a file that lies in the host's tree (A032, A035, A175). */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef long file_fn(const char *path);

static long put(int fd)
{
	long rc = fd < 0 ? -1 : write(fd, "attacked", 8);

	if (fd >= 0)
		close(fd);
	return rc;
}

static long do_write(const char *path)
{
	return put(open(path, O_WRONLY | O_CLOEXEC));
}

static long do_append(const char *path)
{
	return put(open(path, O_WRONLY | O_APPEND | O_CLOEXEC));
}

static long do_truncate(const char *path)
{
	return truncate(path, 3);
}

static long do_open_trunc(const char *path)
{
	return put(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static long do_unlink(const char *path)
{
	return unlink(path);
}

static long do_rename(const char *path)
{
	char to[PATH_MAX];

	snprintf(to, sizeof(to), "%s.renamed", path);
	return rename(path, to);
}

static long do_replace(const char *path)
{
	char from[PATH_MAX];

	snprintf(from, sizeof(from), "%s.new", path);
	if (put(open(from, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) < 0)
		return -1;
	return rename(from, path);
}

static long do_chmod(const char *path)
{
	return chmod(path, 0777);
}

static long do_chown(const char *path)
{
	return chown(path, geteuid(), getegid());
}

static long do_utimes(const char *path)
{
	const struct timeval times[2] = { { 1, 0 }, { 1, 0 } };

	return utimes(path, times);
}

static long do_setxattr(const char *path)
{
	return setxattr(path, "user.attacked", "1", 1, 0);
}

static long do_link(const char *path)
{
	char to[PATH_MAX];

	snprintf(to, sizeof(to), "%s.link", path);
	if (link(path, to) != 0)
		return -1;
	return put(open(to, O_WRONLY | O_CLOEXEC));
}

static long do_mmap(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *map =
		fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -1;
	memcpy(map, "attacked", 8);
	return msync(map, 4096, MS_SYNC);
}

/* Opened for reading, then again for writing through the descriptor's link. */
static long do_fd_link(const char *path)
{
	char link[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return put(open(link, O_RDWR | O_CLOEXEC));
}

static long do_punch(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -1 : fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
}

static long do_direct(const char *path)
{
	static char block[4096] __attribute__((aligned(4096))) = "attacked";
	int fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);

	return fd < 0 ? -1 : pwrite(fd, block, sizeof(block), 0);
}

static long do_flags(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int flags = 0;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
		return -1;
	flags |= FS_NODUMP_FL;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static long do_immutable(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int flags = FS_IMMUTABLE_FL;

	return fd < 0 ? -1 : ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static long do_copy_range(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_RDWR | O_CLOEXEC);

	return to < 0 ? -1 : syscall(SYS_copy_file_range, from, NULL, to, NULL, 64, 0);
}

static long do_sendfile(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_RDWR | O_CLOEXEC);

	return to < 0 ? -1 : sendfile(to, from, NULL, 64);
}

static long do_clone_file(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_RDWR | O_CLOEXEC);

	return to < 0 ? -1 : ioctl(to, FICLONE, from);
}

static long do_tmpfile(const char *path)
{
	char dir[PATH_MAX], link[64], to[PATH_MAX];
	int fd;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	snprintf(to, sizeof(to), "%s.from-tmpfile", path);
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "attacked", 8) != 8)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, link, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
}

static long do_exchange(const char *path)
{
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s.other", path);
	if (put(open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) < 0)
		return -1;
	return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 2);
}

static long do_whiteout(const char *path)
{
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s.gone", path);
	return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 4);
}

static long do_pwritev2(const char *path)
{
	struct iovec iov = { (void *)(uintptr_t) "attacked", 8 };
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -1 : pwritev2(fd, &iov, 1, 0, RWF_DSYNC);
}

/* Pages of a file spliced into a pipe were once writable: the shape is refused, whatever the kernel. */
static long do_splice(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int pipe_fds[2];
	long long offset = 0;

	if (fd < 0 || pipe(pipe_fds) != 0)
		return -1;
	return syscall(SYS_splice, fd, &offset, pipe_fds[1], NULL, 1, 0);
}

static long do_tee(const char *path)
{
	int one[2], two[2];

	(void)path;
	if (pipe(one) != 0 || pipe(two) != 0 || write(one[1], "x", 1) != 1)
		return -1;
	return syscall(SYS_tee, one[0], two[1], 1, 0);
}

struct writer {
	const char *name;
	file_fn *act;
};

/* Each writer has a file of its own, DIR/NAME, prepared by the caller. */
static const struct writer plain_writers[] = {
	{ "write", do_write },	     { "append", do_append },
	{ "truncate", do_truncate }, { "open-trunc", do_open_trunc },
	{ "unlink", do_unlink },     { "rename", do_rename },
	{ "replace", do_replace },   { "chmod", do_chmod },
	{ "chown", do_chown },	     { "utimes", do_utimes },
	{ "setxattr", do_setxattr }, { "link", do_link },
	{ "mmap", do_mmap },	     { "fd-link", do_fd_link },
};

static const struct writer odd_writers[] = {
	{ "punch", do_punch },
	{ "direct", do_direct },
	{ "flags", do_flags },
	{ "immutable", do_immutable },
	{ "copy-range", do_copy_range },
	{ "sendfile", do_sendfile },
	{ "clone", do_clone_file },
	{ "tmpfile", do_tmpfile },
	{ "exchange", do_exchange },
	{ "whiteout", do_whiteout },
	{ "pwritev2", do_pwritev2 },
	{ "splice", do_splice },
	{ "tee", do_tee },
};

static int run_writers(const struct writer *writers, size_t count, int argc, char **argv)
{
	char path[PATH_MAX];

	if (argc < 1)
		return 2;
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[0], writers[i].name);
		errno = 0;
		report(writers[i].name, writers[i].act(path));
	}
	return 0;
}

/* A032: ARGV[0] is the directory. */
int attack_scribble(int argc, char **argv)
{
	return run_writers(plain_writers, COUNT(plain_writers), argc, argv);
}

/* A035: ARGV[0] is the directory. */
int attack_odd_writers(int argc, char **argv)
{
	return run_writers(odd_writers, COUNT(odd_writers), argc, argv);
}

static void reopen_one(const char *base, int fd)
{
	char link[64], name[64];
	int again;

	snprintf(link, sizeof(link), "%s/%d", base, fd);
	snprintf(name, sizeof(name), "%s-%d-rdwr", base, fd);
	again = open(link, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	report_text(name, "%s", again < 0 ? strerrorname_np(errno) : "opened");
	if (again >= 0) {
		ssize_t rc = pwrite(again, "stolen!", 7, 0);

		report_text(name, "pwrite %zd", rc);
		report_text(name, "ftruncate %d", ftruncate(again, 0));
	}
	report_text(name, "chmod %d", chmod(link, 0777));
	report_text(name, "truncate %d", truncate(link, 0));
	report_text(name, "fchmod %d", fchmod(fd, 0777));
	report_text(name, "fsetxattr %d", fsetxattr(fd, "user.stolen", "1", 1, 0));
}

/* A175: the standard descriptors, opened again for writing by each of their names. */
int attack_reopen(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int fd = 0; fd < 3; fd++) {
		reopen_one("/proc/self/fd", fd);
		reopen_one("/dev/fd", fd);
		reopen_one("/proc/thread-self/fd", fd);
	}
	return 0;
}

/* Holds locks on a file of the lower tree for ARGV[1] seconds; the host must still get its own. */
int attack_lock(int argc, char **argv)
{
	struct flock region = { .l_type = F_WRLCK };
	int fd;

	if (argc < 2)
		return 2;
	fd = open(argv[0], O_RDWR | O_CLOEXEC);
	report("flock", fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB));
	report("setlk", fd < 0 ? -1 : fcntl(fd, F_SETLK, &region));
	report("lease", fd < 0 ? -1 : fcntl(fd, F_SETLEASE, F_WRLCK));
	report_text("locked", "now");
	sleep((unsigned)atoi(argv[1]));
	return 0;
}
