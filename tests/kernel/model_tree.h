/* SPDX-License-Identifier: Apache-2.0 */
/* Small trees for the model test: describing and removing them, by paths. */
#ifndef TESTS_MODEL_TREE_H
#define TESTS_MODEL_TREE_H

#include "base/core/own.h"
#include "base/core/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MODEL_XATTR "user.model"

static inline int tree_remove_one(const char *path, const struct stat *st, int kind,
				  struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static inline void tree_remove(const char *path)
{
	(void)nftw(path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline ssize_t tree_read(const char *path, char *text, size_t size)
{
	owned(fd_close) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -1 : read(fd, text, size);
}

static inline void tree_write(const char *path, const char *text, size_t len)
{
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
}

/* One object as a line: all that a person could see of it. */
static inline void tree_describe(const char *path, struct str *out)
{
	char text[4096], value[64];
	struct stat st;
	ssize_t len = 0;

	if (lstat(path, &st) < 0) {
		str_add(out, "absent");
		return;
	}
	str_addf(out, "%o", S_ISLNK(st.st_mode) ? st.st_mode & S_IFMT : st.st_mode);
	if (S_ISREG(st.st_mode))
		len = tree_read(path, text, sizeof(text));
	else if (S_ISLNK(st.st_mode))
		len = readlink(path, text, sizeof(text));
	str_addf(out, " '%.*s'", (int)(len < 0 ? 0 : len), text);
	len = lgetxattr(path, MODEL_XATTR, value, sizeof(value));
	if (len >= 0)
		str_addf(out, " %.*s", (int)len, value);
}

static inline int tree_compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every path below ROOT, sorted, relative; "" is the root itself. */
static inline void tree_list(const char *root, const char *below, struct strv *out)
{
	owned(free_ptr) char *path = xasprintf("%s%s%s", root, *below ? "/" : "", below);
	DIR *dir = opendir(path);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		owned(free_ptr) char *name =
			xasprintf("%s%s%s", below, *below ? "/" : "", entry->d_name);

		strv_add(out, name);
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			tree_list(root, name, out);
	}
	if (dir)
		closedir(dir);
	if (*below == '\0' && out->count > 1)
		qsort(out->items, out->count, sizeof(*out->items), tree_compare_names);
}

/* The whole tree as text. The caller owns it. */
static inline char *tree_text(const char *root)
{
	owned(strv_done) struct strv names = STRV_INIT;
	struct str text = STR_INIT;

	tree_list(root, "", &names);
	for (size_t i = 0; i < names.count; i++) {
		owned(free_ptr) char *path = xasprintf("%s/%s", root, names.items[i]);

		str_addf(&text, "%s ", names.items[i]);
		tree_describe(path, &text);
		str_add_char(&text, '\n');
	}
	return str_detach(&text);
}

#endif
