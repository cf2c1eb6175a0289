/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workspace of a run whose driver has no overlay: a private copy in the store, and afterwards the command's changes as the
 * unit of a layer, so that diff, promote and snapshots know no difference.
 */
#ifndef APP_COPIED_WORKSPACE_H
#define APP_COPIED_WORKSPACE_H

#include "spec/spec.h"
#include "workspace/store/private_copy.h"
#include "workspace/store/store.h"

struct copied_workspace {
	struct store store; /* not locked while the command runs */
	bool has_store;
	int area_fd; /* locked: what a killed run leaves is removed after the next command that opens the store; -1: none */
	struct private_copy copy;
};

/* Makes the copy, of what the host and the layers below UPPER_FD (-1: none) show, and sets the spec's copy_dir. */
int copied_workspace_begin(struct copied_workspace *ret_copied, struct spec *spec, int upper_fd,
			   struct strv *notes, struct error *err);

/* Moves what was changed into the top TOP_FD. Nothing runs in the copy any more. */
int copied_workspace_fold(struct copied_workspace *copied, const struct spec *spec, int top_fd,
			  struct error *err);

/* After a fold that failed: the copy outlives the run, and ERR names its place. */
void copied_workspace_leave(struct copied_workspace *copied, const struct spec *spec,
			    struct error *err);

void copied_workspace_end(struct copied_workspace *copied, const struct spec *spec);

#endif
