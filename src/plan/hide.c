/* SPDX-License-Identifier: Apache-2.0 */
/* What --hide asks for: paths a sandbox is not to see, beyond those that no sandbox sees. */
#include "base/clean_path.h"
#include "base/own.h"
#include "plan/parts.h"

#include <string.h>

/* Relative paths are the workspace's, wherever the caller stands: a profile means the same from everywhere. */
static char *absolute(const struct planning *planning, const char *path)
{
	const struct spec *spec = planning->spec;
	owned(free_ptr) char *joined = NULL;

	if (strcmp(path, "~") == 0)
		return xstrdup(spec->home);
	if (str_starts(path, "~/"))
		joined = plan_join(spec->home, path + 2);
	else if (path[0] != '/')
		joined = plan_join(spec->workspace, path);
	return path_clean(joined ? joined : path);
}

/* Masks lie on what is cloned from the host; what a sandbox has of its own stays. */
static int check_place(const struct spec *spec, const char *path, struct error *err)
{
	static const char *const made[] = { "/proc", "/sys", "/dev", "/run" };
	const char *pattern = strchr(path, '*');

	if (strcmp(path, "/") == 0)
		return error_set(err, ERROR_USAGE, "--hide /: nothing would be left to run");
	if (strcmp(path, spec->workspace) == 0)
		return error_set(err, ERROR_USAGE,
				 "--hide %s is the workspace: hide something in it, or choose "
				 "another with -C",
				 path);
	if (pattern && strchr(pattern, '/'))
		return error_advise(err, ERROR_USAGE, "name the directory",
				    "--hide %s: * is understood in the last part only", path);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		if (path_is_within(path, made[i]))
			return error_set(err, ERROR_USAGE,
					 "--hide %s: the sandbox has its own %s, with nothing of "
					 "the host's in it",
					 path, made[i]);
	}
	return 0;
}

int plan_hidden(const struct planning *planning, struct strv *ret_paths, struct error *err)
{
	const struct strv *hide = &planning->settings->hide;

	for (size_t i = 0; i < hide->count; i++) {
		owned(free_ptr) char *path = absolute(planning, hide->items[i]);

		if (!path)
			return error_set(err, ERROR_USAGE,
					 "--hide %.200s: write the path without '..'",
					 hide->items[i]);
		if (check_place(planning->spec, path, err) < 0)
			return -1;
		strv_add(ret_paths, path);
	}
	return 0;
}
