/* SPDX-License-Identifier: Apache-2.0 */
/* Finds functions by the path that names them. */
#include "scan/follow/functions.h"

#include "base/core/str.h"

#include <stdio.h>
#include <string.h>

/* Longer names no function that is known has. */
#define FUNCTION_MAX 64u

/* A function's result is not the function itself, unless its row is marked so. */
static bool covers(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return strncmp(pattern, path, len - 1) == 0 &&
		       (strchr(pattern, '(') || !strchr(path, '('));
	return strcmp(pattern, path) == 0;
}

static const struct function_row *find_in(const struct function_row *row, const char *path)
{
	while (row->path && (row->path[0] != path[0] || !covers(row->path, path)))
		row++;
	return row->path ? row : NULL;
}

/* What a module has that does the same as fs, with promises or with more beside; NULL. */
static const char *as_fs(const char *path)
{
	static const char *const modules[] = {
		"fs/promises.", "fs.promises.", "fs-extra.",
		"graceful-fs.", "mz/fs.",	"fs-extra.promises."
	};

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		if (str_starts(path, modules[i]))
			return path + strlen(modules[i]);
	}
	return NULL;
}

const struct function_row *function_find(enum scan_language language, const char *path)
{
	const struct function_row *row;
	const char *member;
	char other[FUNCTION_MAX + sizeof("fs.")];

	if (language == SCAN_PYTHON)
		return find_in(python_functions, path);
	row = find_in(javascript_functions, path);
	member = row ? NULL : as_fs(path);
	if (!member || strlen(member) > FUNCTION_MAX)
		return row;
	(void)snprintf(other, sizeof(other), "fs.%s", member);
	return find_in(javascript_functions, other);
}
