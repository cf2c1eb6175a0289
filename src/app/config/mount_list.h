/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories and files the user shows, read-only, to every sandbox of a workspace: a file "mounts" in the user's own
 * configuration with a line SRC, DST and workspace each, a tab between them. SRC is without links when it is written; one
 * that leads elsewhere later is refused and not followed.
 */
#ifndef APP_MOUNT_LIST_H
#define APP_MOUNT_LIST_H

#include "base/core/error.h"
#include "plan/request.h"

/* Adds what is kept for WORKSPACE to SETTINGS as it is written; nothing for a CONFIG_DIR that is not there. */
int mount_list_read(const char *config_dir, const char *workspace, struct settings *settings,
		    struct error *err);

/* Shows HOST at GUEST from now on; what was kept for GUEST goes. HOST NULL: only that, ERROR_NOT_FOUND for nothing. */
int mount_list_change(const char *config_dir, const char *workspace, const char *host,
		      const char *guest, struct error *err);

/*
 * What is kept for this workspace (NULL: it has none) comes on top of the profile: the user's own word, as kept network
 * rules are (rule_list.h). ERROR_NOT_FOUND where a source is no longer what was named.
 */
int mount_list_apply(const struct request *request, const char *config_dir, const char *workspace,
		     struct settings *profile, struct error *err);

#endif
