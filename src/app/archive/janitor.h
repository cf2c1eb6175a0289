/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept no longer goes, into the archive first where there is one. Only in the program with libraries.
 *
 *   out of bounds ──> object, read back ──> manifest, read back ──> removed here
 *
 * Killed anywhere, what was not removed is found again; what is in the archive already stays one object there.
 */
#ifndef APP_ARCHIVE_JANITOR_H
#define APP_ARCHIVE_JANITOR_H

#include "base/core/value.h"
#include "history/trim.h"

struct janitor_wish {
	struct history_bounds history; /* what is held is added */
	const char *archive; /* file:/DIR, s3://BUCKET/PREFIX; NULL: nothing is archived */
	bool is_dry;	     /* nothing is removed or archived */
	char *const *environ;
};

/* Appends {kind, path, detail} to ANSWER for what went, or would. */
int app_retain(const struct janitor_wish *wish, struct value *answer, struct error *err);

#endif
