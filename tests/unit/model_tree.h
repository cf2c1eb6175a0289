/* SPDX-License-Identifier: Apache-2.0 */
/* Trees for model tests: listed, compared, copied. Small ones, by path. */
#ifndef TESTS_MODEL_TREE_H
#define TESTS_MODEL_TREE_H

#include "base/core/own.h"
#include "base/core/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Adds the path of everything below ROOT/PATH, relative to ROOT, parents first. */
static inline void model_list(const char *root, const char *path, struct strv *paths)
{
	owned(free_ptr) char *full = xasprintf("%s/%s", root, path);
	DIR *dir = opendir(full);

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		owned(free_ptr) char *inner =
			xasprintf("%s%s%s", path, *path ? "/" : "", entry->d_name);

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		strv_add(paths, inner);
		if (entry->d_type == DT_DIR)
			model_list(root, inner, paths);
	}
	if (dir)
		closedir(dir);
}

static inline int model_compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One line per entry: kind, mode, path, content or target. */
static inline void model_describe(const char *root, struct str *out)
{
	owned(strv_done) struct strv paths = STRV_INIT;

	model_list(root, "", &paths);
	if (paths.count > 0)
		qsort(paths.items, paths.count, sizeof(paths.items[0]), model_compare_paths);
	for (size_t i = 0; i < paths.count; i++) {
		owned(free_ptr) char *full = xasprintf("%s/%s", root, paths.items[i]);
		char content[256] = "";
		struct stat st;
		ssize_t got = 0;

		if (lstat(full, &st) < 0) {
			str_addf(out, "? %s: %s\n", paths.items[i], strerror(errno));
			continue;
		}
		if (S_ISLNK(st.st_mode))
			got = readlink(full, content, sizeof(content) - 1);
		if (S_ISREG(st.st_mode)) {
			owned(fd_close) int fd = open(full, O_RDONLY | O_CLOEXEC);

			got = read(fd, content, sizeof(content) - 1);
		}
		content[got > 0 ? got : 0] = '\0';
		str_addf(out, "%o %s %lld %s\n", (unsigned)st.st_mode, paths.items[i],
			 S_ISREG(st.st_mode) ? (long long)st.st_size : 0, content);
	}
}

/* Whether both show the same; says where they part. */
static inline bool model_equal(const char *root, const char *other)
{
	owned(str_done) struct str left = STR_INIT, right = STR_INIT;

	model_describe(root, &left);
	model_describe(other, &right);
	if (strcmp(str_cstr(&left), str_cstr(&right)) == 0)
		return true;
	printf("# --- %s\n# --- %s\n", root, other);
	for (const char *a = str_cstr(&left), *b = str_cstr(&right); *a || *b;) {
		size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n");

		if (a_len != b_len || memcmp(a, b, a_len) != 0) {
			printf("# here: %.*s\n# want: %.*s\n", (int)a_len, a, (int)b_len, b);
			break;
		}
		a += a_len + (a[a_len] != '\0');
		b += b_len + (b[b_len] != '\0');
	}
	return false;
}

/* Runs a program of the system's, as rm or cp. */
static inline bool model_tool(const char *const *words)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		char *args[8] = { NULL };

		for (size_t i = 0; words[i] && i < 7; i++)
			args[i] = xstrdup(words[i]);
		execvp(args[0], args);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static inline void model_remove(const char *path)
{
	(void)model_tool((const char *const[]){ "rm", "-rf", "--", path, NULL });
}

static inline bool model_copy(const char *from, const char *to)
{
	model_remove(to);
	return model_tool((const char *const[]){ "cp", "-a", "--", from, to, NULL });
}

#endif
