/* SPDX-License-Identifier: Apache-2.0 */
/* What the generated table of built-in profiles is made of. */
#ifndef PROFILE_BUILTIN_H
#define PROFILE_BUILTIN_H

#include "profile/profile.h"

/* One value of a built-in profile, in the words a flag would use. Lists have one pair per entry. */
struct profile_pair {
	const char *key;
	const char *value;
};

/* Ended by a pair without a key. */
void profile_apply_pairs(struct settings *settings, const struct profile_pair *pairs);

#endif
