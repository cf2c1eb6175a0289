/* SPDX-License-Identifier: Apache-2.0 */
/* What the user shows, read-only, to every sandbox of a workspace. */
#ifndef APP_MOUNTS_H
#define APP_MOUNTS_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

struct app_mounts {
	const char *workspace;	 /* -C; NULL for the one around the current directory */
	const struct strv *show; /* SRC:DST; may be NULL */
	const struct strv *drop; /* DST; may be NULL */
	struct strv *ret_notes;	 /* what the user should know of those that are shown */
};

/* Keeps and forgets, all or nothing but for a failing disk, and lists what is kept then: {host, guest, mode, workspace}. */
int app_mounts(const struct app_mounts *wish, struct value **ret_answer, struct error *err);

#endif
