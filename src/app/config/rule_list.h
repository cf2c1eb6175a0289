/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network rules the user keeps: a file "network" with a line for each, `allow RULE` or `deny RULE`. In the user's own
 * configuration the workspace it is for stands behind the rule; in a sandbox's directory all are the sandbox's.
 */
#ifndef APP_RULE_LIST_H
#define APP_RULE_LIST_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "net/rule/rule_set.h"
#include "plan/request.h"

#define RULE_LIST_NAME "network"

/* WORKSPACE: absolute and resolved, or NULL for a sandbox's. Appends; a directory without a list has none. */
int rule_list_read(int dir_fd, const char *workspace, struct strv *allow, struct strv *deny,
		   struct error *err);

/* ERROR_NOT_FOUND for a rule that is to go and is not there. One that is there already stays. */
int rule_list_change(int dir_fd, const char *workspace, const struct rule_change *change,
		     struct error *err);

/* The rules of a workspace in the configuration at CONFIG_DIR; none when there is no such directory. */
int rule_list_of_workspace(const char *config_dir, const char *workspace, struct strv *allow,
			   struct strv *deny, struct error *err);

/*
 * What the user keeps for this workspace (NULL: it has none) and this sandbox comes on top of the profile. It is the
 * user's own word, so that a program which may only narrow the profile may use it too.
 */
int rule_list_apply(const struct request *request, const char *config_dir, const char *workspace,
		    struct settings *profile, struct error *err);

#endif
