/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of a sandbox: programs see and make their own only, so many of them, and for a day. */
#ifndef APP_OWNER_H
#define APP_OWNER_H

#include "base/core/error.h"
#include "workspace/store/sandbox.h"
#include "workspace/store/store.h"

#include <stdbool.h>

#define OWNED_TTL_MS (UINT64_C(24) * 3600 * 1000)
#define OWNED_MAX 100

/* Whether OWNER (NULL: a person) may make one more of MOST (0: OWNED_MAX); ERROR_DENIED has the remedy when not. */
int owner_has_room(const struct store *store, const char *owner, unsigned most, struct error *err);

/* The same in the caller's store. */
int app_owner_has_room(const char *owner, struct error *err);

/* Whether SANDBOX is OWNER's (NULL: anybody's). */
bool owner_has(const struct sandbox *sandbox, const char *owner);

/*
 * ERROR_NOT_FOUND for a sandbox that is not there, and for one that is not the caller's: the existence of another owner's
 * is not revealed.
 */
int owner_refuse(const char *name, struct error *err);

/*
 * Whether the sandbox of a command in the background is OWNER's, and was there when it started: *ret_sandbox, owned by
 * the caller; else as owner_refuse.
 */
int app_owns_exec(const char *exec_id, const char *owner, char **ret_sandbox, struct error *err);

#endif
