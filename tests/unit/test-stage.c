/* SPDX-License-Identifier: Apache-2.0 */
/* Staging: content with its holes, mode beyond the umask, times, attributes; of every kind of object. */
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "workspace/txn/stage.h"

#include <errno.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static const struct timespec then = { .tv_sec = 1000000000, .tv_nsec = 123456789 };

static struct stage_meta meta_of(mode_t mode)
{
	return (struct stage_meta){
		.mode = mode, .uid = getuid(), .gid = getgid(), .mtime = then, .set_owner = true
	};
}

static bool has(int dir, const char *name, mode_t mode)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mode == mode &&
	       st.st_mtim.tv_sec == then.tv_sec && st.st_mtim.tv_nsec == then.tv_nsec;
}

/* A file with a little data, a hole of some megabytes, and data again. */
static int sparse_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || pwrite(fd, "begin", 5, 0) != 5 || pwrite(fd, "end", 3, 8 << 20) != 3 ||
	    ftruncate(fd, 12 << 20) < 0)
		abort();
	return fd;
}

static void test_files(int dir)
{
	struct stage_meta meta = meta_of(04755);
	struct error err = { 0 };
	owned(fd_close) int from = sparse_file(dir, "sparse");
	char text[8] = "";
	struct stat st;

	tap_ok(stage_bytes(dir, "bytes", "text", 4, &meta, &err) == 0 &&
		       has(dir, "bytes", S_IFREG | 04755),
	       "bytes become a file with mode and time (%s)", err.text);
	tap_ok(stage_bytes(dir, "bytes", "text", 4, &meta, &err) < 0 && err.errnum == EEXIST,
	       "never over another one");
	tap_ok(stage_file(dir, "copy", from, &meta, &err) == 0 && has(dir, "copy", S_IFREG | 04755),
	       "a file is copied (%s)", err.text);
	owned(fd_close) int copy = openat(dir, "copy", O_RDONLY | O_CLOEXEC);

	tap_ok(fstat(copy, &st) == 0 && st.st_size == 12 << 20, "with its length");
	tap_ok(st.st_blocks < 2048, "and its holes (%ld blocks)", (long)st.st_blocks);
	tap_ok(pread(copy, text, 3, 8 << 20) == 3 && strcmp(text, "end") == 0,
	       "and what is behind them");
	owned(fd_close) int empty = openat(dir, "empty", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	tap_ok(stage_file(dir, "nothing", empty, &meta, &err) == 0 &&
		       has(dir, "nothing", S_IFREG | 04755),
	       "an empty one, too");
}

static void test_others(int dir)
{
	struct stage_meta meta = meta_of(0751), node = meta_of(S_IFCHR | 0600);
	struct error err = { 0 };
	struct stat st;

	tap_ok(stage_link(dir, "link", "nowhere/at all", &meta, &err) == 0 &&
		       has(dir, "link", S_IFLNK | 0777),
	       "a link, with its time");
	tap_ok(stage_fifo(dir, "fifo", &meta, &err) == 0 && has(dir, "fifo", S_IFIFO | 0751),
	       "a fifo, whatever the umask");
	tap_ok(stage_directory(dir, "directory", &err) == 0 &&
		       fstatat(dir, "directory", &st, 0) == 0 && st.st_mode == (S_IFDIR | 0700),
	       "a directory nobody else looks into");
	tap_ok(stage_finish_directory(dir, "directory", &meta, &err) == 0 &&
		       has(dir, "directory", S_IFDIR | 0751),
	       "until it is filled");
	if (stage_device(dir, "device", makedev(1, 3), &node, &err) == 0)
		tap_ok(has(dir, "device", S_IFCHR | 0600), "a device node");
	else
		tap_skip(1, "device nodes cannot be made here");
}

static void test_attributes(int dir)
{
	char name[] = "user.aisbx", value[] = "a value", got[16] = "";
	struct xattr_item item = { name, value, sizeof(value) };
	struct xattr_list list = { &item, 1 };
	struct stage_meta meta = meta_of(0600);
	struct error err = { 0 };

	meta.xattrs = &list;
	if (stage_bytes(dir, "with", "", 0, &meta, &err) < 0 && err.errnum == ENOTSUP) {
		tap_skip(1, "no user attributes on this filesystem");
		return;
	}
	owned(fd_close) int fd = openat(dir, "with", O_RDONLY | O_CLOEXEC);

	tap_ok(fgetxattr(fd, name, got, sizeof(got)) == sizeof(value) && strcmp(got, value) == 0,
	       "extended attributes");
}

int main(void)
{
	struct scratch scratch;

	scratch_open(&scratch);
	(void)umask(077);
	int dir = open(scratch.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	test_files(dir);
	test_others(dir);
	test_attributes(dir);
	fd_close(&dir);
	scratch_close(&scratch);
	return tap_done();
}
