/* SPDX-License-Identifier: Apache-2.0 */
/* Where a renamed directory's content lies: the value of overlay's redirect attribute, and names as it changes them. */
#ifndef WORKSPACE_REDIRECT_H
#define WORKSPACE_REDIRECT_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define REDIRECT_MAX 4096

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
