/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations on two trees that stay the same, and a description of a tree to compare. */
#ifndef TESTS_RANDOM_TREE_H
#define TESTS_RANDOM_TREE_H

#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "base/core/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct random {
	uint64_t state;
};

static inline uint32_t random_next(struct random *random, uint32_t below)
{
	/* splitmix64: short, and the same everywhere. */
	uint64_t z = random->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) % below);
}

/* A path of one to three names out of few, so that operations meet. */
static inline void random_path(struct random *random, char out[static 16])
{
	uint32_t depth = 1 + random_next(random, 3);
	size_t len = 0;

	for (uint32_t i = 0; i < depth; i++) {
		if (i > 0)
			out[len++] = '/';
		out[len++] = (char)('a' + random_next(random, 4));
	}
	out[len] = '\0';
}

enum { DESCRIBE_TIMES = 1, DESCRIBE_INODES = 2 };

static inline void describe_xattrs(const char *path, struct str *out)
{
	static const char *const names[] = { "user.t1", "user.t2" };
	char value[256];

	for (size_t i = 0; i < 2; i++) {
		ssize_t size = lgetxattr(path, names[i], value, sizeof(value));

		if (size >= 0)
			str_addf(out, " %s=%.*s", names[i], (int)size, value);
	}
}

static inline void describe_one(const char *path, const char *shown, unsigned what, struct str *out)
{
	char hex[SHA256_HEX_SIZE] = "", link[256] = "";
	struct stat st;

	if (lstat(path, &st) < 0)
		return;
	owned(fd_close) int fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0)
		(void)sha256_fd(fd, hex);
	if (S_ISLNK(st.st_mode)) {
		ssize_t len = readlink(path, link, sizeof(link) - 1);

		link[len > 0 ? len : 0] = '\0';
	}
	str_addf(out, "%s %o %u:%u %.12s%s", shown, st.st_mode, st.st_uid, st.st_gid, hex, link);
	if ((what & DESCRIBE_TIMES) && !S_ISDIR(st.st_mode))
		str_addf(out, " %ld.%09ld", (long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	if (what & DESCRIBE_INODES)
		str_addf(out, " #%lu", (unsigned long)st.st_ino);
	describe_xattrs(path, out);
	str_add_char(out, '\n');
}

static inline int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static inline void describe(const char *root, const char *below, unsigned what, struct str *out)
{
	owned(free_ptr) char *path = xasprintf("%s%s", root, below);
	struct dirent **names;
	int count = scandir(path, &names, NULL, compare_names);

	for (int i = 0; i < count; i++) {
		owned(free_ptr) char *next = xasprintf("%s/%s", below, names[i]->d_name);
		owned(free_ptr) char *whole = xasprintf("%s%s", root, next);
		bool is_dots =
			strcmp(names[i]->d_name, ".") == 0 || strcmp(names[i]->d_name, "..") == 0;

		if (!is_dots)
			describe_one(whole, next, what, out);
		if (!is_dots && names[i]->d_type == DT_DIR)
			describe(root, next, what, out);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

#endif
