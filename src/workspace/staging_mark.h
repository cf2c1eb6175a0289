/*
 * Whose a directory of staging outside the store is.
 *
 * What promotions keep for an undo lies on the filesystem of what they changed, and outlives the store when that is
 * removed. So each such directory has a note of its store: the path, and what the filesystem calls the directory by.
 */
#ifndef WORKSPACE_STAGING_MARK_H
#define WORKSPACE_STAGING_MARK_H

#include "base/error.h"
#include "base/str.h"

/* Notes in DIR_FD that it belongs to the store that has STORE_STAGING. Without a note it is left alone for ever. */
void staging_mark(int dir_fd, const char *store_staging);

/*
 * In each of BASES: finishes or reverses, then removes, what provably has no store any more. What a store knows of is
 * left alone, and so is what somebody works on, what has no note, and what may have a store that is not mounted now; the
 * last are added to LEFT with the reason, the removed ones to REMOVED.
 */
void staging_sweep(const struct strv *bases, struct strv *removed, struct strv *left);

#endif
