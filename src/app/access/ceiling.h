/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server holds its clients to: profiles, as they were when it was started.
 *
 * Nothing that happens later widens them: a file that changed is refused, one that promotions could change is no ceiling,
 * and a sandbox that may do more than they allow is not entered.
 */
#ifndef APP_CEILING_H
#define APP_CEILING_H

#include "base/core/error.h"
#include "base/core/str.h"

struct ceiling_profiles {
	struct strv words;   /* as they were named; the first one where none is */
	struct strv digests; /* of what each came to */
	bool has_gates;	     /* each of them names gates of its own */
};

void ceiling_profiles_done(struct ceiling_profiles *profiles);

/* Reads those that WORDS names. ERROR_DENIED for one that lies in the workspace of the current directory. */
int app_ceiling_read(struct ceiling_profiles *profiles, const char *const *env, struct error *err);

/* ERROR_DENIED when one of them is not what it was. */
int app_ceiling_check(const struct ceiling_profiles *profiles, const char *const *env,
		      struct error *err);

/*
 * Whether the sandbox (NAME or NAME@SNAP) is OWNER's (app/sandbox/owner.h); ERROR_DENIED when it may do more than any of the
 * profiles allows.
 */
int app_ceiling_covers(const struct ceiling_profiles *profiles, const char *sandbox,
		       const char *owner, const char *const *env, struct error *err);

#endif
