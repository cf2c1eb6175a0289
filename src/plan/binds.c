/* SPDX-License-Identifier: Apache-2.0 */
/* Host paths shown at a place of the user's choice: --ro, --rw, --rw-through and a profile's mounts. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "plan/parts.h"

#include <stdlib.h>
#include <string.h>

char *plan_absolute(const char *cwd, const char *source)
{
	owned(free_ptr) char *base = xstrdup(cwd);
	owned(free_ptr) char *joined = NULL;

	if (source[0] == '/')
		return path_clean(source);
	for (;;) {
		if (str_starts(source, "./")) {
			source += 2;
		} else if (strcmp(source, "..") == 0 || str_starts(source, "../")) {
			char *slash = strrchr(base, '/');

			slash[slash == base ? 1 : 0] = '\0';
			source += source[2] ? 3 : 2;
		} else {
			break;
		}
	}
	joined = plan_join(base, source);
	return path_clean(joined);
}

static int check_target(const char *target, struct error *err)
{
	/* What stands there is the sandbox's own, made by launch; a bind over it would undo a protection. */
	static const char *const taken[] = { "/proc", "/sys", "/dev", "/run" };

	if (!target || !path_is_clean(target) || strcmp(target, "/") == 0)
		return error_set(err, ERROR_USAGE, "mount target must be an absolute path: %.200s",
				 target ? target : "");
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (path_is_within(target, taken[i]) || path_is_within(taken[i], target))
			return error_set(err, ERROR_DENIED,
					 "nothing can be mounted on %s: the sandbox has its own %s",
					 target, taken[i]);
	}
	return 0;
}

static int plan_bind(const struct planning *planning, const struct settings_mount *mount,
		     struct error *err)
{
	const struct host *host = planning->host;
	owned(free_ptr) char *source = plan_absolute(host->cwd, mount->host);
	const char *target = mount->guest ? mount->guest : source;

	if (!source)
		return error_set(err, ERROR_USAGE,
				 "mount source '%.200s': '..' is understood at its start only",
				 mount->host);
	const char *own = plan_own_dir(host, source, true);

	if (own)
		return error_set(err, ERROR_DENIED,
				 "%s holds or lies in %s, which no sandbox sees: mount a directory "
				 "beside it",
				 source, own);
	if (check_target(target, err) < 0)
		return -1;
	struct spec_bind *bind = spec_add_bind(planning->spec, source, target);

	bind->writable = mount->writable;
	bind->through = mount->through;
	return 0;
}

int plan_binds(const struct planning *planning, struct error *err)
{
	const struct settings *settings = planning->settings;

	for (size_t i = 0; i < settings->mount_count; i++) {
		if (plan_bind(planning, &settings->mounts[i], err) < 0)
			return -1;
	}
	return 0;
}
