/* SPDX-License-Identifier: Apache-2.0 */
/* The profile found at a workspace's top, written by the workspace's author. */
#ifndef APP_PROFILE_WORKSPACE_H
#define APP_PROFILE_WORKSPACE_H

#include "base/core/error.h"
#include "profile/profile.h"
#include "spec/settings.h"

/*
 * Lays the profile of WORKSPACE (absolute), where there is one, over SETTINGS: all of it when the user
 * trusts it, else only what narrows. CONFIG_DIR, where trust is kept, may be NULL. A malformed profile
 * is an error. What was ignored is added to NOTES.
 */
int workspace_profile_apply(const char *workspace, const char *config_dir,
			    struct settings *settings, struct strv *notes, struct error *err);

/* PROFILE, read from PATH, and everything it extends, merged. PROFILE is emptied. In profile_load.c. */
int app_extend_profile(struct profile *profile, const char *path, const char *config_dir,
		       struct settings *ret_settings, struct error *err);

#endif
