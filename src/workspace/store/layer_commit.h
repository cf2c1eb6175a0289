/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing: the writable top becomes a layer, and everything that goes with it happens or does not.
 *
 * The intent is written down first, whole; the rename of the top is the moment from which on it will be finished.
 */
#ifndef WORKSPACE_LAYER_COMMIT_H
#define WORKSPACE_LAYER_COMMIT_H

#include "workspace/store/snapshot.h"

#define SEAL_PENDING "pending"

/* What will be so when it is done. */
struct layer_commit {
	struct layer_meta layer;
	struct snapshot snapshot;	/* the name the layer gets */
	char head[LAYER_ID_SIZE];	/* where the sandbox stands afterwards */
	char at[SNAPSHOT_NAME_MAX + 1]; /* likewise */
	uint64_t last_snap, last_auto;
};

void layer_commit_done(struct layer_commit *seal);
void layer_commit_format(const struct layer_commit *seal, struct str *out);
int layer_commit_parse(const char *bytes, size_t len, struct layer_commit *ret_seal,
		       struct error *err);

/* Whether the top holds anything. A top that was never made does not. */
int layer_commit_top_is_dirty(const struct sandbox *sandbox, bool *ret_dirty, struct error *err);

/* A new layer on the sandbox's head: id, parent, depth, boot. */
int layer_commit_describe_layer(const struct sandbox *sandbox, struct layer_meta *ret_meta,
				struct error *err);

/* Does it. The sandbox is held exclusively; its struct is as its files are afterwards. */
int layer_commit_run(struct sandbox *sandbox, const struct layer_commit *seal, struct error *err);

/* Whether a seal is under way, or was interrupted. One system call. */
bool layer_commit_is_pending(const struct sandbox *sandbox);

/* Finishes what was interrupted, or drops it when the top had not been moved yet. */
int layer_commit_recover(struct sandbox *sandbox, struct error *err);

/* Writes a layer's record, and notes that the disk may not have it yet. */
int layer_commit_write_layer(const struct store *store, const struct layer_meta *meta,
			     struct error *err);
/* Writes a snapshot's record. */
int layer_commit_write_snapshot(const struct sandbox *sandbox, const struct snapshot *snapshot,
				struct error *err);

void snapshot_format(const struct snapshot *snapshot, struct str *out);
int snapshot_parse(const char *bytes, size_t len, const char *name, struct snapshot *ret_snapshot,
		   struct error *err);

#endif
