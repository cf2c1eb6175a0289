/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there may be a policy: all that the hot program knows of them. */
#include "app/vet/rego_parts.h"

#include "app/config/profile_load.h"
#include "app/vet/vet.h"
#include "base/core/own.h"

#include <errno.h>
#include <sys/stat.h>

bool policy_dir_is_absent(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* By this process's environment, not by that of a command that is to run. */
char *policy_user_dir(void)
{
	owned(free_ptr) char *config = app_config_dir((const char *const *)environ);

	return config ? xasprintf("%s/policy", config) : NULL;
}

bool policy_may_exist(void)
{
	owned(free_ptr) char *user = policy_user_dir();

	return !policy_dir_is_absent(POLICY_MACHINE_DIR) || (user && !policy_dir_is_absent(user));
}

int policy_hand_over(struct error *err)
{
	if (app_can_vet || !policy_may_exist())
		return 0;
	return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
}
