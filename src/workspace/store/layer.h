/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers: what a sandbox wrote, one directory in overlay format per unit, immutable once sealed, but for the mark of a
 * renamed directory, which follows the host when that is promoted or taken back (promotion_redirect.c), or goes when the
 * directory cannot be shown that way and no other sandbox stands on the layer (promote_unfold.c).
 *
 * A unit is one overlay of the clone: a mount of the host, or in a plain user's forest one directory. Its directory is
 * called after a digest of the unit's path on the host, so that it is found again whatever the number and order of mounts
 * is by then. A layer holds
 *
 *   u-HASH/       the unit's tree; whiteouts, opaque marks and redirects as the kernel wrote them
 *   units         one record per unit: HASH, a blank, the path, NUL
 *   touched       base identities of what it touched (origin.h), if any were taken
 *   folded        the id of a layer that shows what this and all below it show, if one was made
 *   meta          parent, boot id, sealed when, synced or not; written last: without it this is no layer,
 *                 or a commit under way (layer_commit.h)
 *
 * The writable top of a sandbox (sbx/NAME/upper) has the same shape with w-HASH (overlay's scratch) and without meta.
 */
#ifndef WORKSPACE_LAYER_H
#define WORKSPACE_LAYER_H

#include "base/core/str.h"
#include "workspace/store/store.h"

#include <stddef.h>
#include <stdint.h>

#define LAYER_ID_SIZE 27   /* as run ids: sortable */
#define LAYER_UNIT_SIZE 19 /* "u-" and 16 hex digits */
#define LAYER_DEPTH_MAX 48 /* beyond that a chain is flattened */

/* "u-0123456789abcdef" for the unit at PATH. Pure. */
void layer_unit_name(const char *path, char ret_name[static LAYER_UNIT_SIZE]);

struct layer_unit {
	char name[LAYER_UNIT_SIZE];
	char *path; /* on the host: "/", "/home" */
};

struct layer_units {
	struct layer_unit *items;
	size_t count;
};

/* The units of the layer (or writable top) at DIR_FD; those it does not list are not there. */
int layer_units_read(int dir_fd, struct layer_units *ret_units, struct error *err);
void layer_units_done(struct layer_units *units);
/* Adds a record unless it is there. Called by the process that mounts the unit, before anything is written to it. */
int layer_units_add(int dir_fd, const char *path, struct error *err);

struct layer_meta {
	char id[LAYER_ID_SIZE];
	char parent[LAYER_ID_SIZE]; /* "" for none: the base itself */
	char same_as
		[LAYER_ID_SIZE]; /* folded: the layer whose view, with all below it, this one shows; "" for others */
	char sandbox[LAYER_ID_SIZE]; /* id of the sandbox that wrote it */
	char boot_id[37];
	uint64_t sealed_ms;
	uint64_t depth;	 /* layers from this one down, itself included */
	bool is_synced;	 /* content is on the disk */
	bool user_xattr; /* made inside a user namespace: user.overlay.* */
	bool is_on_torn; /* one below it was torn when it was sealed */
};

int layer_meta_read(const struct store *store, const char *lid, struct layer_meta *ret_meta,
		    struct error *err);

/* Unsynced, and the machine was started anew since, or on such a one: it may be incomplete. Never promoted. */
bool layer_is_torn(const struct layer_meta *meta, const char *boot_id);

/* The chain from LID down, newest first, without the base. LID "" gives an empty one. */
struct layer_chain {
	struct layer_meta *items;
	size_t count;
};

int layer_chain_read(const struct store *store, const char *lid, struct layer_chain *ret_chain,
		     struct error *err);
void layer_chain_done(struct layer_chain *chain);
/* How many layers both have in common, from the oldest on. */
size_t layer_chain_common(const struct layer_chain *a, const struct layer_chain *b);

/* Opens layers/LID. The caller owns the descriptor. */
int layer_open(const struct store *store, const char *lid, int *ret_fd, struct error *err);

#endif
