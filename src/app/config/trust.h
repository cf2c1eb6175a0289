/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of workspaces the user trusts: lines of sha256 and path in the user's own configuration.
 *
 * Both must match. The content, because one changed byte is another file; the path, because a profile
 * speaks of what lies beside it, and elsewhere that is something else.
 */
#ifndef APP_TRUST_H
#define APP_TRUST_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* PATH is absolute and resolved. An unreadable list, or one that others may write, trusts nothing. */
bool trust_has(const char *config_dir, const char *path, const void *bytes, size_t len);

/* Trusts this content at PATH, and no other content there. Makes the directory when it is missing. */
int trust_add(const char *config_dir, const char *path, const void *bytes, size_t len,
	      struct error *err);

/* Ends the trust in whatever is at PATH; ERROR_NOT_FOUND when there was none. */
int trust_remove(const char *config_dir, const char *path, struct error *err);

#endif
