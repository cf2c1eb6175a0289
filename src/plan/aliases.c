/* SPDX-License-Identifier: Apache-2.0 */
/* One file under two names: bind mounts and subvolumes show a filesystem in several places. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "plan/parts.h"

#include <string.h>

const struct host_mount *plan_holder(const struct host *host, const char *path)
{
	const struct host_mount *found = NULL;

	for (size_t i = 0; i < host->mount_count; i++) {
		const struct host_mount *mount = &host->mounts[i];

		if (!path_is_within(path, mount->point))
			continue;
		/* Of several at one place the later one is seen. */
		if (!found || strlen(mount->point) >= strlen(found->point))
			found = mount;
	}
	return found;
}

/* What follows DIR in PATH, without a leading slash; PATH lies in DIR. */
static const char *rest_of(const char *path, const char *dir)
{
	const char *rest = path + (strcmp(dir, "/") == 0 ? 0 : strlen(dir));

	return rest + (*rest == '/');
}

static char *below(const char *dir, const char *rest)
{
	return *rest ? plan_join(dir, rest) : xstrdup(dir);
}

bool plan_twins(const struct host_mount *a, const struct host_mount *b, char **ret_from,
		char **ret_to)
{
	owned(free_ptr) char *from = NULL;
	owned(free_ptr) char *to = NULL;

	if (a == b || a->major != b->major || a->minor != b->minor)
		return false;
	if (path_is_within(b->root, a->root)) {
		from = below(a->point, rest_of(b->root, a->root));
		to = xstrdup(b->point);
	} else if (path_is_within(a->root, b->root)) {
		from = xstrdup(a->point);
		to = below(b->point, rest_of(a->root, b->root));
	}
	/* A directory bound onto itself has one name. */
	if (!from || !to || strcmp(from, to) == 0)
		return false;
	*ret_from = ptr_take(&from);
	*ret_to = ptr_take(&to);
	return true;
}

char *plan_alias(const char *path, const char *from, const char *to)
{
	if (path_is_within(path, from))
		return below(to, rest_of(path, from));
	return path_is_within(from, path) ? xstrdup(to) : NULL;
}

bool plan_is_needed(const struct spec *spec, const char *path)
{
	bool is_in_etc = path_is_within(path, "/etc") && strcmp(path, "/etc") != 0;

	return (plan_is_system_dir(path) && !is_in_etc) || path_is_within(spec->home, path) ||
	       path_is_within(spec->workspace, path);
}

bool plan_is_home_twin(const char *place, const char *home, const char *from, const char *to)
{
	return strcmp(place, from) == 0 && strcmp(to, "/") != 0 &&
	       (strcmp(place, home) == 0 || strcmp(place, "/home") == 0 ||
		strcmp(place, "/root") == 0);
}
