/* SPDX-License-Identifier: Apache-2.0 */
/* Writing into the writable top of a sandbox from outside, in overlay's own format. It must not be mounted. */
#ifndef WORKSPACE_TOP_H
#define WORKSPACE_TOP_H

#include "base/core/str.h"
#include "workspace/store/sandbox.h"
#include "workspace/txn/stage.h"
#include "workspace/view/view.h"

/*
 * Puts a file with TEXT at the absolute PATH of the view. Directories on the way get the attributes the view shows
 * for them: of a merged directory the upper one's are seen.
 */
int top_write_file(struct sandbox *sandbox, const struct view_stack *stack, const char *path,
		   const struct str *text, const struct stage_meta *meta, struct error *err);

#endif
