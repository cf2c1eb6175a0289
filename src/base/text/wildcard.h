/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names and paths, as the shell has them: the same in every program, whatever its C library. */
#ifndef BASE_WILDCARD_H
#define BASE_WILDCARD_H

#include <stdbool.h>

enum wildcard_flag {
	WILDCARD_PATH = 1,  /* a slash is matched by a slash alone */
	WILDCARD_BELOW = 2, /* what lies below a match is one */
	WILDCARD_PLAIN = 4, /* a backslash protects nothing */
};

/*
 * Whether all of TEXT is what PATTERN means: * ? [set] [!set] \x, sets with ranges, [:class:], [=x=] and [.x.]. Bytes, as
 * in the C locale. A set that does not end is a bracket; one that is wrong in itself matches nothing.
 */
bool wildcard_matches(const char *pattern, const char *text, int flags);

#endif
