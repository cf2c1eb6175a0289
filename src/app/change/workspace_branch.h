/* SPDX-License-Identifier: Apache-2.0 */
/* Two snapshots of which neither comes from the other, compared through the point where their ways part. */
#ifndef APP_WORKSPACE_BRANCH_H
#define APP_WORKSPACE_BRANCH_H

#include "workspace/delta/delta.h"

/* One end: its stack of layers, and how many of them, from the top, the other end does not have. */
struct branch_end {
	const struct view_stack *stack;
	size_t own;
};

struct branch {
	struct view_stack
		stack; /* both ends' own layers, then the common ones; what `delta` points into */
	struct delta delta;
	struct delta parts[2]; /* from the common point to each end */
};

/*
 * What it takes to get from OLD to NEW. Cost follows the changes of both since they parted. Renames show as deleted and
 * added. The stacks of the ends must stay open as long as the branch.
 */
int branch_read(const struct branch_end *old, const struct branch_end *new, const char *workspace,
		struct branch *ret_branch, struct error *err);
void branch_done(struct branch *branch);

#endif
