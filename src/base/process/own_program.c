/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a program of ours by where the running one lies. */
#include "base/process/own_program.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/real_path.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

char *own_program(const char *name)
{
	/* In a build tree all lie in one folder; installed, `aisbx` lies in bin and the others in libexec. */
	static const char *const places[] = { ".", "../libexec/aisbx", "../../bin" };
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
