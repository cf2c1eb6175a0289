/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: YAML bytes in, settings or an error with line and nearest key out. */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "base/core/error.h"
#include "profile/language.h"
#include "spec/settings.h"

#include <stddef.h>

struct profile {
	char *name;
	char *extends; /* NULL when it stands alone */
	struct settings settings;
	struct settings
		languages[PROFILE_LANGUAGES]; /* what a command of that language gets on top */
};

void profile_init(struct profile *profile);
void profile_done(struct profile *profile);

/*
 * Parses one profile. ORIGIN names it in errors; BASE_DIR (may be NULL) is what relative `host` and `seccomp`
 * paths are resolved against, as text only. Needs libyaml: linked into aisbx-full, not into the hot program.
 */
int profile_parse(const char *bytes, size_t len, const char *origin, const char *base_dir,
		  struct profile *ret_profile, struct error *err);

/* Built-in profiles, compiled in from profiles/ at build time and needing no parser. */
struct profile_builtin {
	const char *name;
	const char *summary; /* first comment line of the file */
	const char *source;  /* the YAML text, for `profile show` */
	/* Applies the profile's settings, `extends` resolved. */
	void (*apply)(struct settings *settings);
};

/* Ended by a row without a name. */
extern const struct profile_builtin profile_builtins[];
const struct profile_builtin *profile_builtin_find(const char *name);

#endif
