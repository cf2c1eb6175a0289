/* SPDX-License-Identifier: Apache-2.0 */
/* Which profile applies to a request, and what it comes to: files, `extends`, the workspace's own. */
#ifndef APP_PROFILE_LOAD_H
#define APP_PROFILE_LOAD_H

#include "base/core/error.h"
#include "base/hash/sha256.h"
#include "plan/request.h"
#include "spec/settings.h"

#include <stdbool.h>

/* Name of the file at a workspace's top that is found by itself. */
#define WORKSPACE_PROFILE ".aisbx.yaml"

/*
 * Whether loading needs the YAML parser: the profile is a file, the user has one of that name, it is not
 * built in, or the workspace (absolute; may be NULL) has one. A few calls of access(2); nothing is opened.
 */
bool app_profile_needs_yaml(const struct request *request, const char *workspace);

/*
 * The profile REQUEST names (file, the user's, built in), `extends` resolved, narrowed by the workspace's
 * own unless the user trusts that one. What was ignored is added to NOTES. The request's flags are not
 * laid over it here. The caller owns *ret_settings (settings_done).
 */
int app_load_profile(const struct request *request, const char *workspace,
		     struct settings *ret_settings, struct strv *notes, struct error *err);

/*
 * Named sandboxes keep the profile they are made with: every file of it, with path and digest. A start reads the copy, so
 * that the masks by which a diff or a promotion is judged are those under which the commands ran, whatever became of the
 * files; flags are kept in the same way. *ret_kept is owned by the caller; "" when the profile is a built-in one, which
 * the sandbox then keeps even if the user makes a profile of that name later.
 */
int app_keep_profile(const struct request *request, char **ret_kept, struct error *err);

/* The user's ~/.config/aisbx, owned by the caller; NULL when ENV has no usable HOME. */
char *app_config_dir(const char *const *env);

/*
 * The profile WORD names and everything it extends, merged; its section for the language of COMMAND (may be NULL) comes on
 * top. *ret_path (owned by the caller) is the file it came from, NULL when it is built in.
 */
int app_resolve_profile(const char *word, const char *config_dir, const struct strv *command,
			struct settings *ret_settings, char **ret_path, struct error *err);

/* What a profile came to when it was read: every file of it, by content. */
struct profile_pin {
	char digest[SHA256_HEX_SIZE];
	struct settings settings;
	struct strv paths; /* of its files, resolved */
};

/* The profile WORD names, for any command. To be released in any case. */
int app_pin_profile(const char *word, const char *const *env, struct profile_pin *ret_pin,
		    struct error *err);
/* The same of a request, which may be a sandbox's. */
int app_pin_request(const struct request *request, const char *const *env,
		    struct profile_pin *ret_pin, struct error *err);
void profile_pin_done(struct profile_pin *pin);

#endif
