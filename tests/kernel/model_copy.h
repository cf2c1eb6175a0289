/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the model test's small trees. */
#ifndef TESTS_MODEL_COPY_H
#define TESTS_MODEL_COPY_H

#include "tests/kernel/model_tree.h"

/* Copies one object, not what is in it. */
static inline void tree_copy_one(const char *from, const char *to)
{
	char text[4096], value[64];
	struct stat st;
	ssize_t len;

	if (lstat(from, &st) < 0)
		abort();
	if (S_ISDIR(st.st_mode)) {
		(void)mkdir(to, 0755);
	} else if (S_ISLNK(st.st_mode)) {
		len = readlink(from, text, sizeof(text) - 1);
		text[len < 0 ? 0 : len] = '\0';
		if (symlink(text, to) < 0)
			abort();
		return;
	} else if (S_ISREG(st.st_mode)) {
		len = tree_read(from, text, sizeof(text));
		tree_write(to, text, len < 0 ? 0 : (size_t)len);
	} else if (mknod(to, st.st_mode, st.st_rdev) < 0) {
		abort();
	}
	(void)chmod(to, st.st_mode & 07777);
	len = lgetxattr(from, MODEL_XATTR, value, sizeof(value));
	if (len >= 0)
		(void)lsetxattr(to, MODEL_XATTR, value, (size_t)len, 0);
}

static inline void tree_copy(const char *from, const char *to)
{
	DIR *dir;

	tree_copy_one(from, to);
	dir = opendir(from);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		owned(free_ptr) char *source = xasprintf("%s/%s", from, entry->d_name);
		owned(free_ptr) char *target = xasprintf("%s/%s", to, entry->d_name);
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (lstat(source, &st) == 0 && S_ISDIR(st.st_mode))
			tree_copy(source, target);
		else
			tree_copy_one(source, target);
	}
	if (dir)
		closedir(dir);
}

/* Layers are immutable, so a file written through one of its names leaves the others: names part when a layer is sealed. */
static inline void part_links(const char *tree)
{
	owned(strv_done) struct strv names = STRV_INIT;

	tree_list(tree, "", &names);
	for (size_t i = 0; i < names.count; i++) {
		owned(free_ptr) char *path = xasprintf("%s/%s", tree, names.items[i]);
		owned(free_ptr) char *beside = xasprintf("%s.parted", path);
		struct stat st;

		if (lstat(path, &st) < 0 || S_ISDIR(st.st_mode) || st.st_nlink < 2)
			continue;
		tree_copy_one(path, beside);
		if (rename(beside, path) < 0)
			abort();
	}
}

#endif
