/* What taking snapshots and moving between them share. */
#ifndef WORKSPACE_SNAPSHOT_PARTS_H
#define WORKSPACE_SNAPSHOT_PARTS_H

#include "workspace/seal.h"

/* A seal as the request wants it: named, standing on the sandbox's head; no layer yet. */
int snapshot_plan(const struct sandbox *sandbox, const struct snapshot_request *request,
		  struct seal *ret_seal, struct error *err);

/* Seals the top as planned; the sandbox stands on the new layer unless the plan says otherwise. */
int snapshot_seal(struct sandbox *sandbox, struct seal *seal, struct error *err);

/* snapshot_flatten for chains deeper than DEPTH_MAX. */
int snapshot_fold(struct sandbox *sandbox, uint64_t depth_max, struct error *err);

#endif
