/* SPDX-License-Identifier: Apache-2.0 */
/* Finds `aisbx` beside aisbx-full. */
#include "app/run/own_program.h"

#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/core/str.h"

#include <limits.h>
#include <string.h>

/* Two folders up and into bin when installed, the same folder in a build tree. */
char *own_program(void)
{
	static const char *const places[] = { "/../../bin/aisbx", "/aisbx" };
	char dir[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	if (len <= 0)
		return NULL;
	dir[len] = '\0';
	slash = strrchr(dir, '/');
	*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		owned(free_ptr) char *path = xasprintf("%s%s", dir, places[i]);

		if (access(path, X_OK) == 0)
			return path_real(path);
	}
	return NULL;
}
