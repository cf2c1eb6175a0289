/* SPDX-License-Identifier: Apache-2.0 */
/* Where a path really leads: the one door to what the C libraries do differently. */
#ifndef BASE_REAL_PATH_H
#define BASE_REAL_PATH_H

#include <stdbool.h>

/*
 * PATH without links, clean in the sense of base/text/clean_path.h: musl's realpath keeps two slashes in front, which Linux
 * takes for one, and what is compared as text must have one spelling. Owned by the caller; NULL with errno.
 */
char *path_real(const char *path);

/* The same into PATH_MAX bytes; false with errno. */
bool path_real_into(const char *path, char *ret_real);

#endif
