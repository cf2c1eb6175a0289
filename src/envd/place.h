/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as clients write them, made absolute; and the account that everything here runs as. */
#ifndef ENVD_PLACE_H
#define ENVD_PLACE_H

#include "envd/call.h"

/* The directory that relative paths and ~ mean: that of E2B's sandboxes, where it can be had, else the workspace. */
const char *place_home(void);

/* Makes that directory and goes there. Before anything is started. */
void place_settle(void);

/* The account that owns ID, which is of users (FILE /etc/passwd) or groups (/etc/group), as E2B calls it. Owned by the caller. */
char *place_owner(const char *file, unsigned id);

/* PATH, absolute and without . and .. ; owned by the caller. NULL: a ~ of another account. */
char *place_of(const char *path);

/* Whether the call names no account but the one there is; else it was answered. */
bool place_check_user(struct call *call);

/* The directory above PATH and all those above it, as far as they are missing. 0, or -1 with errno. */
int place_make_parents(const char *path);

/* The name of an account (FILE /etc/passwd) or group (/etc/group), else the number. Owned by the caller. */
char *place_name_of(const char *file, unsigned id);

#endif
