/* SPDX-License-Identifier: Apache-2.0 */
/* What a promotion asks about: single paths, or directories that a tool made as a whole. */
#include "ops/promotion_asked.h"

#include "app/change/workspace.h"
#include "base/core/own.h"
#include "base/text/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

char *promotion_read_path(const struct value *item)
{
	const char *coded = item->kind == VALUE_MAP ? value_get_text(item, "path_b64") : NULL;
	const char *path =
		item->kind == VALUE_TEXT ? item->text.bytes : value_get_text(item, "path");
	owned(str_done) struct str raw = STR_INIT;

	if (coded && base64_read(&raw, coded, strlen(coded)))
		path = str_cstr(&raw);
	return xstrdup(path ? path : "");
}

bool promotion_names_path(const char *flag)
{
	return strcmp(flag, "--allow-path") == 0;
}

static bool is_on_host(const struct value *answer, const char *path)
{
	const char *target = value_get_text(answer, "target");
	owned(free_ptr) char *whole = xasprintf("%s/%s", target ? target : "", path);

	return faccessat(AT_FDCWD, whole, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/*
 * Directories of the consents that are new environments of Python: both files of one are asked about. One file more
 * makes no environment of a directory that the host has.
 */
static void find_environments(const struct value *answer, struct strv *ret_directories)
{
	static const char end[] = "/bin/activate";
	const struct value *consents = value_get(answer, "consent");
	owned(strv_done) struct strv paths = STRV_INIT;

	for (size_t i = 0; i < value_list_count(answer, "consent"); i++)
		strv_take(&paths, promotion_read_path(consents->many.items[i]));
	for (size_t i = 0; i < paths.count; i++) {
		if (!str_ends(paths.items[i], end))
			continue;
		owned(free_ptr) char *dir =
			xstrndup(paths.items[i], strlen(paths.items[i]) - strlen(end));
		owned(free_ptr) char *mark = xasprintf("%s/pyvenv.cfg", dir);

		if (strv_has(&paths, mark) && !is_on_host(answer, dir))
			strv_take(ret_directories, ptr_take(&dir));
	}
}

/* Whether a promotion that is on record wrote PATH (absolute), or a directory above it; one that cannot be read did. */
static bool is_promoted(const char *path)
{
	owned(value_release) struct value *all = NULL;
	struct error ignored;

	if (app_promotions(&all, &ignored) < 0)
		return true;
	for (size_t i = 0; i < all->many.count; i++) {
		const struct value *one = all->many.items[i], *paths = value_get(one, "paths");
		const char *target = value_get_text(one, "target");

		if (!target || !paths || paths->kind != VALUE_LIST)
			return true;
		for (size_t k = 0; k < paths->many.count; k++) {
			owned(free_ptr) char *name = promotion_read_path(paths->many.items[k]);
			owned(free_ptr) char *whole = xasprintf("%s/%s", target, name);

			/* A renamed directory is recorded alone, and brings all that is in it. */
			if (str_starts(path, whole) && strchr("/", path[strlen(whole)]))
				return true;
		}
	}
	return false;
}

/* Whether a tool marked DIR of the host as its own: a promotion could have brought the mark for the next one. */
static bool is_marked(const struct value *answer, const char *dir)
{
	owned(free_ptr) char *mark = xasprintf("%s/CACHEDIR.TAG", dir);
	owned(free_ptr) char *whole = xasprintf("%s/%s", value_get_text(answer, "target"), mark);

	return is_on_host(answer, mark) && !is_promoted(whole);
}

/*
 * Whether DIR is made by a tool, and asked about as a whole: a node_modules, an environment of Python, what a build leaves
 * where the host has nothing of that name, or has it from the tool itself.
 */
static bool is_generated(const struct value *answer, const struct strv *environments,
			 const char *dir)
{
	static const char *const names[] = { ".eggs", ".nox",	".tox",	 "build",
					     "dist",  "target", "vendor" };
	const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir;
	bool is_named = false;

	if (strcmp(name, "node_modules") == 0 || strv_has(environments, dir))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_named |= strcmp(name, names[i]) == 0;
	return is_named && (!is_on_host(answer, dir) || is_marked(answer, dir));
}

void promotion_find_asked(const struct value *answer, struct strv *ret_asked)
{
	const struct value *consents = value_get(answer, "consent");
	owned(strv_done) struct strv environments = STRV_INIT;

	find_environments(answer, &environments);
	for (size_t i = 0; i < value_list_count(answer, "consent"); i++) {
		owned(free_ptr) char *path = promotion_read_path(consents->many.items[i]);
		const char *flag = value_get_text(consents->many.items[i], "flag");
		char *at = flag && promotion_names_path(flag) ? strchr(path, '/') : NULL;

		for (; at; at = strchr(at + 1, '/')) {
			*at = '\0';
			bool is_found = is_generated(answer, &environments, path);

			*at = '/';
			if (is_found) {
				at[1] = '\0';
				break;
			}
		}
		strv_take(ret_asked, ptr_take(&path));
	}
}
