/* SPDX-License-Identifier: Apache-2.0 */
/* Names and paths as profiles write them, judged as text only. */
#include "profile/path.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <string.h>

#define NAME_LENGTH 63
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

char *profile_path(const char *base_dir, const char *path, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	owned(free_ptr) char *joined = NULL;
	char *clean = NULL;

	if (path[0] == '\0') {
		error_set(err, ERROR_INPUT, "the path is empty");
		return NULL;
	}
	if (path[0] == '/')
		joined = xstrdup(path);
	else if (base_dir)
		joined = xasprintf("%s/%s", base_dir, path);
	if (joined)
		clean = path_clean(joined);
	if (!clean)
		error_set(err, ERROR_INPUT, "'%s' is %s", str_shown(path, shown),
			  joined ? "too long or goes up with '..'" : "not an absolute path");
	return clean;
}

bool profile_is_name(const char *word)
{
	size_t len = strlen(word);

	return len <= NAME_LENGTH && strspn(word, LETTERS) > 0 &&
	       strspn(word, LETTERS "._-") == len && !profile_is_file(word);
}

bool profile_is_file(const char *word)
{
	return strchr(word, '/') || str_ends(word, ".yaml") || str_ends(word, ".yml");
}
