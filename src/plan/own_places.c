/* SPDX-License-Identifier: Apache-2.0 */
/* Every place where the host shows a folder of aisbx itself. */
#include "base/core/own.h"
#include "plan/parts.h"

/* Where the folders of an account lie unless XDG variables name other places. */
static const char *const usual_folders[] = { ".config/aisbx", ".local/share/aisbx",
					     ".local/state/aisbx", ".cache/aisbx" };

static void add_usual(const char *home, struct strv *paths)
{
	for (size_t i = 0; i < sizeof(usual_folders) / sizeof(usual_folders[0]); i++)
		strv_take(paths, plan_join(home, usual_folders[i]));
}

/* A mount of a folder, of a part of it, or of a directory above it gives it a second name. */
static void add_mounted(const struct host *host, struct strv *paths)
{
	const size_t count = paths->count, mounts = host->mount_count;

	for (size_t i = 0; i < mounts * mounts; i++) {
		const struct host_mount *a = &host->mounts[i / mounts],
					*b = &host->mounts[i % mounts];
		owned(free_ptr) char *from = NULL;
		owned(free_ptr) char *to = NULL;

		if (a->minor != b->minor || a->class == MOUNT_KERNEL ||
		    !plan_twins(a, b, &from, &to))
			continue;
		for (size_t p = 0; p < count; p++) {
			char *alias = plan_alias(paths->items[p], from, to);

			if (alias)
				strv_take(paths, alias);
		}
	}
}

void plan_own_places(const struct host *host, const struct strv *homes, struct strv *ret_paths)
{
	const char *own[HOST_OWN_DIRS];

	host_own_dirs(host, own);
	for (size_t i = 0; i < HOST_OWN_DIRS; i++)
		strv_add(ret_paths, own[i]);
	add_usual(host->home, ret_paths);
	for (size_t i = 0; i < homes->count; i++)
		add_usual(homes->items[i], ret_paths);
	add_mounted(host, ret_paths);
}
