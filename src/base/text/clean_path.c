/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text: what is clean, making it so, and which lies within which. */
#include "base/text/clean_path.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <limits.h>
#include <string.h>

static bool is_part(const char *part, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(part, what, len) == 0;
}

bool path_is_clean(const char *path)
{
	if (!path || path[0] != '/' || strlen(path) >= PATH_MAX)
		return false;
	if (path[1] == '\0')
		return true;
	for (const char *at = path; *at;) {
		const char *part = at + 1;
		size_t len = strcspn(part, "/");

		if (len == 0 || is_part(part, len, ".") || is_part(part, len, ".."))
			return false;
		at = part + len;
	}
	return true;
}

char *path_clean(const char *path)
{
	owned(str_done) struct str clean = STR_INIT;

	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return NULL;
	for (const char *at = path; *at;) {
		const char *part = at + 1;
		size_t len = strcspn(part, "/");

		/* Only the kernel knows where ".." leads: symbolic links are in the way. */
		if (is_part(part, len, ".."))
			return NULL;
		if (len > 0 && !is_part(part, len, ".")) {
			str_add_char(&clean, '/');
			str_add_bytes(&clean, part, len);
		}
		at = part + len;
	}
	if (clean.len == 0)
		str_add_char(&clean, '/');
	return str_detach(&clean);
}

bool path_is_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1)
		return true;
	return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}
