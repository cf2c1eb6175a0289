/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the host, and of a top as a mounted overlay would have written them. */
#ifndef TESTS_PROMOTE_FILES_H
#define TESTS_PROMOTE_FILES_H

#include "tests/unit/promote_bench.h"

/* Where NAME is on the host; the caller owns it. */
static inline char *bench_real(const struct bench *bench, const char *name)
{
	return xasprintf("%s/%s", bench->workspace, name);
}

static inline char *bench_top(const struct bench *bench, const char *name)
{
	owned(free_ptr) char *below = xasprintf("store/sbx/box/upper/%s/%s", bench->unit, name);

	return scratch_path(&bench->scratch, below);
}

static inline void bench_write(const char *path, const char *text)
{
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		tap_bail("cannot write a file");
}

/* A file of the host. */
static inline void real_put(const struct bench *bench, const char *name, const char *text)
{
	owned(free_ptr) char *below = xasprintf("ws/%s", name);
	owned(free_ptr) char *path = scratch_path(&bench->scratch, below);

	bench_write(path, text);
}

/* A file the sandbox made; FROM_LOWER: copied up, with the mark the kernel leaves. */
static inline void top_put(const struct bench *bench, const char *name, const char *text,
			   bool from_lower)
{
	owned(free_ptr) char *path = bench_top(bench, name);
	const char *mark = geteuid() == 0 ? "trusted.overlay.origin" : "user.overlay.origin";

	bench_write(path, text);
	if (from_lower && setxattr(path, mark, "", 0, 0) < 0)
		tap_bail("cannot set an attribute");
}

static inline void top_remove(const struct bench *bench, const char *name)
{
	owned(free_ptr) char *path = bench_top(bench, name);

	(void)unlink(path);
	if (mknod(path, S_IFCHR, makedev(0, 0)) < 0)
		tap_bail("cannot make a whiteout");
}

static inline bool real_is(const struct bench *bench, const char *name, const char *text)
{
	owned(free_ptr) char *path = bench_real(bench, name);
	owned(fd_close) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char got[4096];
	ssize_t len = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

	if (len < 0) {
		if (text)
			printf("# there is no %s\n", name);
		return text == NULL;
	}
	got[len] = '\0';
	if (text && strcmp(got, text) == 0)
		return true;
	printf("# %s holds '%s'\n", name, got);
	return false;
}

static inline void top_link(const struct bench *bench, const char *name, const char *target)
{
	owned(free_ptr) char *path = bench_top(bench, name);

	if (symlink(target, path) < 0)
		tap_bail("cannot make a link");
}

/* A directory of the top; with MARK overlay's attribute of that name and VALUE. */
static inline void top_mkdir(const struct bench *bench, const char *name, const char *mark,
			     const char *value)
{
	owned(free_ptr) char *path = bench_top(bench, name);
	owned(free_ptr) char *attribute =
		mark ? xasprintf("%s.overlay.%s", geteuid() == 0 ? "trusted" : "user", mark) : NULL;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		tap_bail("cannot make a directory");
	if (mark && setxattr(path, attribute, value, strlen(value), 0) < 0)
		tap_bail("cannot set an attribute");
}

static inline void top_chmod(const struct bench *bench, const char *name, mode_t mode)
{
	owned(free_ptr) char *path = bench_top(bench, name);

	if (chmod(path, mode) < 0)
		tap_bail("cannot change a mode");
}

static inline void real_remove(const struct bench *bench, const char *name)
{
	owned(free_ptr) char *path = bench_real(bench, name);

	if (remove(path) < 0)
		tap_bail("cannot remove a file");
}

static inline bool real_stat(const struct bench *bench, const char *name, struct stat *ret_st)
{
	owned(free_ptr) char *path = bench_real(bench, name);

	return lstat(path, ret_st) == 0;
}

#endif
