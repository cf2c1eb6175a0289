/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as the least careful file system or tool would read them.
 *
 * Two names that fold to the same text may be one file somewhere: where case does not count (ext4 and F2FS with
 * casefold, XFS, ZFS and APFS by choice, vfat, NTFS), where invisible code points are left out, where the end of a name
 * is cut.
 */
#ifndef WORKSPACE_NAME_FOLD_H
#define WORKSPACE_NAME_FOLD_H

#include "base/core/str.h"

#define NAME_FOLD_SIZE 256

/* Folds the name that PATH begins with; returns what follows it: a slash, or the end. */
const char *name_fold(const char *path, char ret_name[static NAME_FOLD_SIZE]);

/* Folds every name of PATH, with one slash between them. */
void name_fold_path(const char *path, struct str *ret_folded);

#endif
