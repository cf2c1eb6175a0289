/* SPDX-License-Identifier: Apache-2.0 */
/* Three texts merged by lines; conflicts are data. `ours` is the host, `theirs` the sandbox. */
#ifndef WORKSPACE_MERGE_H
#define WORKSPACE_MERGE_H

#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>

/* 0-based line ranges in each of the three that cannot be combined. */
struct merge_conflict {
	size_t base_start, base_count, ours_start, ours_count, theirs_start, theirs_count;
};

struct merge_result {
	struct str text; /* merged; conflicts resolved or marked as asked */
	struct merge_conflict *conflicts;
	size_t conflict_count;
};

enum merge_favour { MERGE_MARK, MERGE_OURS, MERGE_THEIRS };

struct merge_input {
	const char *base, *ours, *theirs;
	size_t base_len, ours_len, theirs_len;
	enum merge_favour favour; /* what stands for a conflict: markers, or one side's lines */
	const char *ours_label, *theirs_label; /* beside the markers */
};

/* Clean exactly when conflict_count is 0; then the same bytes as `git merge-file` gives. */
void merge_text(const struct merge_input *input, struct merge_result *ret_result);
void merge_result_done(struct merge_result *result);

#endif
