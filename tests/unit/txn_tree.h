/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of every kind of object, and a picture of what is there. */
#ifndef TESTS_TXN_TREE_H
#define TESTS_TXN_TREE_H

#include "base/core/own.h"
#include "base/core/str.h"
#include "workspace/txn/stage.h"
#include "workspace/txn/txn.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FIXTURE_TIME 1000000000

static inline void fixture_file(int root_fd, const char *path, const char *text)
{
	owned(fd_close) int fd =
		openat(root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct timespec times[2] = { { .tv_sec = FIXTURE_TIME - 5 },
				     { .tv_sec = FIXTURE_TIME - 5 } };

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || futimens(fd, times) < 0)
		abort();
}

/* The old tree. */
static inline void fixture_make(const char *root)
{
	static const char *const dirs[] = { "gone-dir", "gone-dir/sub", "move-dir", "meta",
					    "type-dir", "out-dir",	"stay" };
	static const char *const files[] = { "replace",	       "delete",      "gone-dir/x",
					     "gone-dir/sub/y", "move",	      "move-dir/inner",
					     "move-dir/keep",  "meta/inside", "type-file",
					     "type-dir/z",     "out-dir/out", "out-dir/rest",
					     "stay/untouched", "pair" };

	if (mkdir(root, 0755) < 0 && errno != EEXIST)
		abort();
	owned(fd_close) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (mkdirat(fd, dirs[i], 0755) < 0)
			abort();
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		owned(free_ptr) char *text = xasprintf("old %s\n", files[i]);

		fixture_file(fd, files[i], text);
	}
	if (symlinkat("old target", fd, "link") < 0 || linkat(fd, "pair", fd, "pair-other", 0) < 0)
		abort();
}

/* One line for an object: what a user would notice, and the inode's link count. */
static inline int fixture_describe(const char *path, const struct stat *st, int kind,
				   struct FTW *ftw)
{
	char text[128] = "", xattr[64] = "";

	(void)ftw;
	(void)kind;
	if (S_ISREG(st->st_mode)) {
		owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t got = read(fd, text, sizeof(text) - 1);

		text[got > 0 ? got - 1 : 0] = '\0';
	} else if (S_ISLNK(st->st_mode) && readlink(path, text, sizeof(text) - 1) < 0) {
		abort();
	}
	if (lgetxattr(path, "user.aisbx-test", xattr, sizeof(xattr) - 1) < 0)
		xattr[0] = '\0';
	printf("%s mode=%o links=%ld mtime=%ld [%s] [%s]\n", path, st->st_mode,
	       S_ISDIR(st->st_mode) ? 0l : (long)st->st_nlink,
	       S_ISREG(st->st_mode) ? (long)st->st_mtim.tv_sec : 0l, text, xattr);
	return 0;
}

#endif
