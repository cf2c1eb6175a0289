/* SPDX-License-Identifier: Apache-2.0 */
/* Promotions that were made: listed, taken back, finished after a crash, forgotten when they are old. */
#ifndef WORKSPACE_PROMOTIONS_H
#define WORKSPACE_PROMOTIONS_H

#include "base/hash/sha256.h"
#include "workspace/store/layer.h"
#include "workspace/store/store.h"

/* One line of the list of promotions. */
#define PROMOTION_UNREADABLE "unreadable"

struct promotion_record {
	char id[LAYER_ID_SIZE];
	char *sandbox, *target, *owner;
	char *workspace; /* of commits: what they were made in; else NULL */
	char digest[SHA256_HEX_SIZE];
	uint64_t made_ms, undone_ms;
	uint64_t files;
	/* "live", "undone", "pending", "stuck", "kept" (too old to be undone), or PROMOTION_UNREADABLE and nothing else */
	const char *state;
	char *note; /* of one that is unfinished: why; or NULL */
	struct strv paths;
};

/* Newest first. Recovers interrupted ones first. TARGET: only those of that directory; NULL: all. */
int promotion_list(const struct store *store, const char *target,
		   struct promotion_record **ret_items, size_t *ret_count, struct error *err);
void promotion_records_free(struct promotion_record *items, size_t count);

/*
 * Takes promotion ID back, by the beginning of its name; NULL: the newest in force whose target the directory HERE lies
 * in. *ret_id is the whole name.
 */
int promotion_undo(const struct store *store, const char *id, const char *here,
		   char ret_id[static LAYER_ID_SIZE], struct strv *ret_paths, struct error *err);

/*
 * Finishes or reverses what was cut short; cheap when there is nothing. At the start of any command. What stays unfinished
 * (its target is away, or a disk refuses) is noted and tried again by the next one. -1 only when the list cannot be read.
 */
int promotion_recover(const struct store *store, struct strv *ret_notes, struct error *err);

/* Keeps the last 20 of a target, and 5 GiB; the others can no longer be undone. */
void promotion_trim(const struct store *store, struct strv *removed);

/* Keeps only the last COUNT of TARGET. */
void promotion_keep(const struct store *store, const char *target, size_t count);

#endif
