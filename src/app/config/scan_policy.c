/* SPDX-License-Identifier: Apache-2.0 */
/* Which policy holds: the file that is named, the user's own, or the built-in one. Never one from a workspace. */
#include "app/config/scan_policy.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/yaml.h"
#include "app/config/profile_load.h"

#include <fcntl.h>
#include <unistd.h>

#define USER_POLICY "scan.yaml"

static int read_file(const char *path, struct scan_policy *ret_policy, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (file_read(AT_FDCWD, path, YAML_MAX_BYTES, &text, err) < 0)
		return -1;
	return scan_policy_read(str_cstr(&text), text.len, path, ret_policy, err);
}

int app_scan_policy(const char *file, const char *const *env, struct scan_policy *ret_policy,
		    struct error *err)
{
	owned(free_ptr) char *config = app_config_dir(env);
	owned(free_ptr) char *own = config ? xasprintf("%s/" USER_POLICY, config) : NULL;

	scan_policy_init(ret_policy);
	if (file)
		return read_file(file, ret_policy, err);
	if (own && access(own, F_OK) == 0)
		return read_file(own, ret_policy, err);
	return 0;
}
