/* SPDX-License-Identifier: Apache-2.0 */
/* Long lists of paths for people: folded by directory, so that they fit a screen. */
#ifndef OPS_FOLD_H
#define OPS_FOLD_H

#include "base/core/str.h"

#include <stddef.h>

#define FOLD_LINES 30

/*
 * Adds PATHS, a line each behind two blanks. More than LINES of them (0: any number): the directories with most in them
 * become one line with the count of their changes and, where ROOT is given, the bytes that their files have there.
 */
void fold_add_paths(struct str *out, const struct strv *paths, size_t lines, const char *root);

#endif
