/* Whose a sandbox is: programs see and make their own only, so many of them, and for a day. */
#ifndef ENGINE_OWNER_H
#define ENGINE_OWNER_H

#include "base/error.h"
#include "workspace/store.h"

#define OWNED_TTL_MS (UINT64_C(24) * 3600 * 1000)
#define OWNED_MAX 100

/* Whether OWNER (NULL: a person) may make one more; ERROR_DENIED says what to do when not. */
int owner_has_room(const struct store *store, const char *owner, struct error *err);

/* The same in the caller's store. */
int engine_owner_has_room(const char *owner, struct error *err);

/*
 * Whether NAME (NAME@SNAP too) is a sandbox of OWNER's (NULL: anybody's). ERROR_USAGE for what is no name; ERROR_NOT_FOUND for all
 * others alike: whether somebody else has one of that name is nobody's business.
 */
int engine_owns(const char *name, const char *owner, struct error *err);

/* The same for the sandbox of a command in the background: *ret_sandbox, owned by the caller. */
int engine_owns_exec(const char *exec_id, const char *owner, char **ret_sandbox, struct error *err);

#endif
