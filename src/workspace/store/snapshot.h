/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Save, rewind, branch: sealing the writable top as a layer, and moving pointers.
 *
 * Nothing here copies content or waits for the disk; cost does not depend on the size of any tree. The caller has
 * stopped every process that could write (the supervisor sees to that) and holds the sandbox exclusively.
 *
 * A seal is: write `pending`, rename upper to layers/LID, write its meta, write head, remove `pending`. Interrupted
 * anywhere, the next lock finishes it (tree moved) or drops it (tree not moved).
 */
#ifndef WORKSPACE_SNAPSHOT_H
#define WORKSPACE_SNAPSHOT_H

#include "workspace/store/sandbox.h"

#include <stdbool.h>

#define SNAPSHOT_NAME_MAX 63
#define SNAPSHOT_BASE "base" /* stands for the host itself wherever a snapshot is named */

struct snapshot {
	char name[SNAPSHOT_NAME_MAX + 1];   /* "s1", "s2"; "auto1" for automatic ones */
	char layer[LAYER_ID_SIZE];	    /* "" for the base */
	char parent[SNAPSHOT_NAME_MAX + 1]; /* the snapshot it was made on; "" for none */
	char *message;			    /* NULL for none */
	uint64_t made_ms;
	bool is_auto;
	bool is_current; /* the sandbox stands on it */
	bool is_torn;
};

struct snapshots {
	struct snapshot *items; /* oldest first */
	size_t count;
};

struct snapshot_request {
	const char *name;    /* NULL: the next free sN */
	const char *message; /* NULL: none */
	bool is_auto;
	bool durable; /* sync before answering */
	bool is_live; /* the top stays mounted, its writers frozen: it is copied, not moved; cost follows its size */
};

/* Seals the top and names it. An empty top gives the head another name without a new layer. */
int snapshot_take(struct sandbox *sandbox, const struct snapshot_request *request,
		  struct snapshot *ret_snapshot, struct error *err);
void snapshot_done(struct snapshot *snapshot);

int snapshot_list(const struct sandbox *sandbox, struct snapshots *ret_list, struct error *err);
void snapshots_done(struct snapshots *list);

/* ERROR_NOT_FOUND suggests the nearest name. */
int snapshot_find(const struct sandbox *sandbox, const char *name, struct snapshot *ret_snapshot,
		  struct error *err);

/*
 * Back to snapshot NAME, or (NULL) to the last one the user made on the way that led here, or to the base when there
 * is none. What the top held is sealed as an automatic snapshot first, named in *ret_saved ("" when it held nothing).
 */
int snapshot_rollback(struct sandbox *sandbox, const char *name,
		      char ret_saved[static SNAPSHOT_NAME_MAX + 1], struct error *err);

/*
 * A new sandbox NEW_NAME from a snapshot of SANDBOX, or (NULL) from its present, which is sealed first. Where it begins
 * is its snapshot "fork".
 */
int snapshot_fork(struct sandbox *sandbox, const char *snapshot, const char *new_name,
		  uint64_t expires_ms, struct error *err);

/* Forgets a snapshot; what was made on it, and a sandbox that stands on it, then stand on its parent. */
int snapshot_drop(struct sandbox *sandbox, const char *name, struct error *err);

/* Today's host tree as base: seals a dirty top, and notes the new time. The next mount is fresh. */
int snapshot_refresh(struct sandbox *sandbox, struct error *err);

/* Syncs unsynced layers of the store and marks them so; for a background process and before a promotion. */
int snapshot_sync(const struct store *store, struct error *err);

/* Moves layers and contents that nothing refers to into the trash; adds what it removed. Takes the store's lock. */
int store_gc(struct store *store, struct strv *removed, struct error *err);

#endif
