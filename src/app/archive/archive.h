/* SPDX-License-Identifier: Apache-2.0 */
/* An archive looked at, checked, and taken back from. Only in the program with libraries. */
#ifndef APP_ARCHIVE_H
#define APP_ARCHIVE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

#include <stdbool.h>

struct archive_wish {
	const char *url;
	bool is_own;		/* the one that this machine writes to */
	const char *day;	/* YYYY-MM-DD: what was archived then; NULL: ever */
	const struct strv *ids; /* of runs; NULL: all */
	char *const *environ;
};

/*
 * Days, oldest first, [{day, manifests, runs, logs, raw_bytes, bytes}]; of one day, what was archived on it,
 * [{kind, id, size, sha256, object, made, machine}]. Damaged manifests are named in NOTES.
 */
int app_archive_list(const struct archive_wish *wish, struct value **ret_list, struct str *notes,
		     struct error *err);

/* One run: {items: [as in a list], record}. */
int app_archive_show(const struct archive_wish *wish, struct value **ret_answer, struct error *err);

/* Everything held to its digests: {manifests, objects, items, raw_bytes, problems: [text]}. */
int app_archive_verify(const struct archive_wish *wish, struct value **ret_answer,
		       struct error *err);

/*
 * Takes back what is asked for, and pins it, so that its age does not send it away again: {runs, logs}. What is there
 * already stays as it is. All of it is checked before anything is restored.
 */
int app_archive_restore(const struct archive_wish *wish, struct value **ret_answer,
			struct error *err);

/* Adds IDS to what stays here whatever its age, or takes them out: the list as it is then. */
int app_archive_pin(const struct strv *ids, bool is_pinned, struct value **ret_list,
		    struct error *err);

#endif
