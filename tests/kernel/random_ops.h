/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations, each done to several trees alike. */
#ifndef TESTS_RANDOM_OPS_H
#define TESTS_RANDOM_OPS_H

#include "base/file/tree.h"
#include "tests/kernel/random_tree.h"

/* What is to be done; chosen once, done to each tree. */
struct random_op {
	uint32_t kind, seed;
	char path[16], to[16];
};

static inline void random_op(struct random *random, struct random_op *op)
{
	op->kind = random_next(random, 14);
	op->seed = random_next(random, 1000000);
	random_path(random, op->path);
	random_path(random, op->to);
}

static inline int op_write(const char *path, uint32_t seed, int flags)
{
	owned(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
	char text[64];
	int len = snprintf(text, sizeof(text), "line %u\n", seed);

	if (fd < 0)
		return -1;
	for (uint32_t i = 0; i <= seed % 40; i++)
		if (write(fd, text, (size_t)len) != len)
			return -1;
	return 0;
}

static inline int op_replace(const char *path, uint32_t seed)
{
	owned(free_ptr) char *draft = xasprintf("%s~", path);
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    op_write(draft, seed, O_CREAT | O_TRUNC) < 0)
		return -1;
	return rename(draft, path);
}

static inline int op_set_time(const char *path, uint32_t seed)
{
	const struct timespec times[2] = { { .tv_sec = seed }, { .tv_sec = seed, .tv_nsec = 7 } };

	return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

static inline int op_chmod(const char *path, uint32_t seed)
{
	static const mode_t modes[] = { 0600, 0644, 0755, 0700 };
	struct stat st;

	if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
		return -1;
	return chmod(path, S_ISDIR(st.st_mode) ? 0700 | modes[seed % 4] : modes[seed % 4]);
}

static inline int op_xattr(const char *path, uint32_t seed)
{
	char value[16];
	int len = snprintf(value, sizeof(value), "%u", seed);
	struct stat st;

	if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
		return -1;
	if (seed % 3 == 0)
		return lremovexattr(path, "user.t1");
	return lsetxattr(path, seed % 2 ? "user.t1" : "user.t2", value, (size_t)len, 0);
}

/* Does it below ROOT. 0, or -1 when it cannot be done there. */
static inline int random_do(const struct random_op *op, const char *root)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", root, op->path);
	owned(free_ptr) char *to = xasprintf("%s/%s", root, op->to);

	switch (op->kind) {
	case 0:
	case 1:
		return op_write(path, op->seed, O_CREAT | O_EXCL);
	case 2:
		return op_write(path, op->seed, O_APPEND);
	case 3:
		return op_write(path, op->seed, O_TRUNC);
	case 4:
		return op_replace(path, op->seed);
	case 5:
		return unlink(path);
	case 6:
		return tree_remove(AT_FDCWD, path);
	case 7:
	case 8:
		return mkdir(path, 0755);
	case 9:
	case 10:
		return rename(path, to);
	case 11:
		return symlink(op->to, path);
	case 12:
		return op->seed % 2 ? op_chmod(path, op->seed) : op_set_time(path, op->seed);
	default:
		return op_xattr(path, op->seed);
	}
}

#endif
