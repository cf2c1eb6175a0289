/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel notes in the layers of an overlay: whiteouts, opaque directories, where a renamed one came from. */
#ifndef WORKSPACE_OVERLAY_H
#define WORKSPACE_OVERLAY_H

#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#define REDIRECT_MAX 4096

/* What a deleted name leaves in a layer. */
static inline bool overlay_is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

/* "user.overlay.KEY" (IS_USER: the layer was made inside a user namespace) or "trusted.overlay.KEY", in NAME. */
const char *overlay_mark_name(bool is_user, const char *key, char name[static 64]);

/* Value of overlay's own attribute KEY of FD; length, or -1 with errno. */
ssize_t overlay_mark(int fd, bool is_user, const char *key, void *value, size_t size);

/* Errors that mean that there is no such mark. */
bool overlay_is_unmarked(int errnum);

/* How a directory of a layer refers to the layers below it. */
enum overlay_below {
	OVERLAY_UNKNOWN = -1, /* with errno */
	OVERLAY_MERGED,	      /* shows their directory of the same name as well */
	OVERLAY_OPAQUE,	      /* hides it */
	OVERLAY_REDIRECT,     /* shows another one */
	OVERLAY_FORGED,	      /* has a mark that the kernel neither writes nor follows there */
};

/* Reads it off directory FD; with OVERLAY_REDIRECT, VALUE is valid and ends with NUL. */
enum overlay_below overlay_read(int fd, bool is_user, char value[static REDIRECT_MAX]);

/*
 * Whether the LEN bytes at VALUE are what the kernel writes: one name, or a path from the unit's root without empty
 * parts. Names that would climb, and anything with a NUL in it, are not. Pure.
 */
bool redirect_is_valid(const char *value, size_t len);

/*
 * What is looked up in the layers below, once the part of NAME that ends REST bytes before its end was found to be a
 * directory with redirect VALUE (valid, NUL-terminated). NAME is one name, or a path with a leading slash. Pure.
 */
void redirect_apply(struct str *name, size_t part_len, size_t rest, const char *value);

#endif
