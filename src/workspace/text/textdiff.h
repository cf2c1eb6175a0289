/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines compared: linear-space Myers over hashed lines, with prefix and suffix trimmed and a cap on cost.
 *
 * Beyond the cap the script is still right, only not the shortest. Bytes in, scripts out; no I/O.
 */
#ifndef WORKSPACE_TEXTDIFF_H
#define WORKSPACE_TEXTDIFF_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>

struct text {
	const char *bytes; /* borrowed */
	size_t len;
	size_t *starts; /* of each line; starts[count] is len */
	size_t count;
};

/* Binary as git sees it: a NUL in the first 8,000 bytes. */
bool text_is_binary(const char *bytes, size_t len);
void text_split(struct text *text, const char *bytes, size_t len);
void text_done(struct text *text);

/* COUNT_A lines from START_A of the old are replaced by COUNT_B lines from START_B of the new; both 0-based. */
struct hunk {
	size_t start_a, count_a, start_b, count_b;
};

struct hunks {
	struct hunk *items;
	size_t count;
};

void textdiff(const struct text *old, const struct text *new, struct hunks *ret_hunks);
void hunks_done(struct hunks *hunks);

struct unified_options {
	unsigned context; /* lines around each change; 3 as usual */
};

/* The body of a unified diff: @@ headers and lines, "\ No newline at end of file" where it is so. */
void textdiff_unified(const struct text *old, const struct text *new,
		      const struct unified_options *options, struct str *out);

/* Inserted and removed lines. */
void textdiff_stat(const struct text *old, const struct text *new, size_t *ret_added,
		   size_t *ret_removed);

#endif
