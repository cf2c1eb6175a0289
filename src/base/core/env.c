/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of an environment that was handed over. */
#include "base/core/env.h"

#include <stddef.h>
#include <string.h>

const char *env_get(const char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++) {
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	}
	return NULL;
}

const char *env_given(const char *const *env, const char *name)
{
	const char *value = env_get(env, name);

	return value && *value ? value : NULL;
}
