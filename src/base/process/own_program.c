/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a program of ours by where the running one lies. */
#include "base/process/own_program.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/real_path.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* In a build tree all lie in one folder; installed, `aisbx` lies in bin and the others in libexec. */
static const char *const places[] = { ".", "../libexec/aisbx", "../../bin" };
static const char *const names[] = { "aisbx",	   "aisbx-full",    "aisbx-http",  "aisbx-wasm",
				     "aisbx-envd", "aisbx-gateway", "aisbx-policy" };

char *own_program(const char *name)
{
	char dir[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	dir[len > 0 ? len : 0] = '\0';
	char *slash = strrchr(dir, '/');

	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		owned(free_ptr) char *path =
			xasprintf("%.*s/%s/%s", (int)(slash - dir), dir, places[i], name);

		if (access(path, X_OK) == 0)
			return path_real(path);
	}
	owned(free_ptr) char *installed = xasprintf(AISBX_LIBEXEC "/%s", name);

	return access(installed, X_OK) == 0 ? path_real(installed) : NULL;
}

/* The directory that PLACE, one of the places above, is for a program in DIR, without a look at the disk. */
static char *place_of(const char *dir, const char *place)
{
	size_t len = strlen(dir);

	for (; strncmp(place, "../", 3) == 0; place += 3)
		while (len > 0 && dir[--len] != '/')
			;
	return place[0] == '.' ? xstrdup(dir) : xasprintf("%.*s/%s", (int)len, dir, place);
}

static void add_names(const char *dir, struct strv *paths)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		owned(free_ptr) char *path = xasprintf("%s/%s", dir, names[i]);

		if (!strv_has(paths, path))
			strv_add(paths, path);
	}
}

void own_program_places(struct strv *ret_paths)
{
	/* Each looks for the others from where it lies itself. */
	for (size_t i = 0; i < 2; i++) {
		owned(free_ptr) char *dir = own_program(names[i]);

		if (!dir)
			continue;
		*strrchr(dir, '/') = '\0';
		for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
			owned(free_ptr) char *place = place_of(dir, places[p]);
			owned(free_ptr) char *real = path_real(place);

			add_names(place, ret_paths);
			if (real)
				add_names(real, ret_paths);
		}
	}
	add_names(AISBX_LIBEXEC, ret_paths);
}
