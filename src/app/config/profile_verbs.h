/* SPDX-License-Identifier: Apache-2.0 */
/* What `profile ls|show|check|trust|untrust` ask of app. */
#ifndef APP_PROFILE_VERBS_H
#define APP_PROFILE_VERBS_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

/* Lists {name, origin, summary, path}: the user's profiles and the built-in ones they do not replace. */
struct value *app_profile_list(const char *const *env);

/*
 * A profile by name or file: {name, origin, path, source, effective}. TEXT gets its source and, as
 * comments, what is in force once `extends` is resolved.
 */
int app_profile_show(const char *word, const char *const *env, struct value **ret_answer,
		     struct str *text, struct error *err);

/* Whether a profile, and everything it extends, holds. */
int app_profile_check(const char *word, const char *const *env, struct error *err);

/* Trusts FILE as it is now: {path, sha256, effective}. It must hold as a profile. */
int app_profile_trust(const char *file, const char *const *env, struct value **ret_answer,
		      struct error *err);

/* Ends the trust in FILE, whatever it holds now: {path}. */
int app_profile_untrust(const char *file, const char *const *env, struct value **ret_answer,
			struct error *err);

#endif
