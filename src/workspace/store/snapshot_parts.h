/* SPDX-License-Identifier: Apache-2.0 */
/* What taking snapshots and moving between them share. */
#ifndef WORKSPACE_SNAPSHOT_PARTS_H
#define WORKSPACE_SNAPSHOT_PARTS_H

#include "workspace/store/layer_commit.h"

/* A seal as the request wants it: named, standing on the sandbox's head; no layer yet. */
int snapshot_plan(const struct sandbox *sandbox, const struct snapshot_request *request,
		  struct layer_commit *ret_seal, struct error *err);

/* Seals the top as planned; the sandbox stands on the new layer unless the plan says otherwise. */
int snapshot_seal(struct sandbox *sandbox, struct layer_commit *seal, struct error *err);

/*
 * Folding takes as long as there are entries, so it happens in the background after a snap: a deep layer gets a twin that
 * shows the same alone, and the next seal stands on that.
 */
bool flatten_find_twin(const struct store *store, const char *lid, struct layer_meta *ret_twin);
/* Makes twins of new layers that lie too deep. */
void flatten_new(const struct store *store);

/* Folds a chain deeper than DEPTH_MAX into one layer, at once; the view stays the same. 1 when it did, 0, or -1. */
int snapshot_fold(struct sandbox *sandbox, uint64_t depth_max, struct error *err);

#endif
