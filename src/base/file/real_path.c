/* SPDX-License-Identifier: Apache-2.0 */
/* Where a path really leads, in one spelling whatever the C library. */
#include "base/file/real_path.h"

#include "base/text/clean_path.h"
#include "base/core/str.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool path_real_into(const char *path, char *ret_real)
{
	size_t more = 0;

	/* No call takes it, and not every library lets it pass for being slashes. */
	if (strlen(path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	if (!realpath(path, ret_real))
		return false;
	while (ret_real[more] == '/' && ret_real[more + 1] == '/')
		more++;
	if (more > 0)
		memmove(ret_real, ret_real + more, strlen(ret_real + more) + 1);
	/* Rather none than one that compares with nothing. */
	if (!path_is_clean(ret_real)) {
		errno = EINVAL;
		return false;
	}
	return true;
}

char *path_real(const char *path)
{
	char real[PATH_MAX];

	return path_real_into(path, real) ? xstrdup(real) : NULL;
}
