/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text: absolute, without empty, "." and ".." parts, so that two spellings never mean one place. */
#ifndef BASE_CLEAN_PATH_H
#define BASE_CLEAN_PATH_H

#include <stdbool.h>

/* Whether PATH is absolute and has one spelling only: no "//", no ".", no "..", no slash at the end. */
bool path_is_clean(const char *path);

/* The clean spelling of an absolute path, owned by the caller; NULL when it is relative or climbs with "..". */
char *path_clean(const char *path);

/* Whether PATH is DIR or lies below it; both clean. */
bool path_is_within(const char *path, const char *dir);

#endif
