/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promotions as they lie in the store.
 *
 *   promotions/ID/record    what, from where, to where, how it stands; "key value" lines
 *   promotions/ID/paths     what the host was made, one line per path (origin_record.h)
 *   promotions/ID/applied   the same with the ctimes after it was applied (promotion_applied.c)
 *   promotions/ID/restored  what it was made again by an undo
 *   promotions/ID/redirects renamed directories (promotion_redirect.c)
 *   promotions/pending/ID   there while it may be unfinished: all a command needs to look at when it starts
 */
#ifndef WORKSPACE_PROMOTION_H
#define WORKSPACE_PROMOTION_H

#include "workspace/base/origin.h"

/* A record that is being made or changed. */
struct promotion_entry {
	char id[LAYER_ID_SIZE];
	char *sandbox, *sandbox_id, *target, *owner; /* owner may be NULL */
	char *workspace; /* of commits: what they were made in, target being its git directory; else NULL */
	bool is_objects; /* of commits: their objects alone, ahead of the branch; they stay, the record does not */
	char *directory;		    /* of the transaction; NULL while there is none */
	uint64_t place_ino, place_btime_ns; /* of what promotion_place_above names; 0: not known */
	char *state;			    /* "pending", "live", "undone", "stuck", "kept" */
	char digest[SHA256_HEX_SIZE];
	uint64_t made_ms, undone_ms, files;
};

void promotion_entry_done(struct promotion_entry *entry);

/*
 * Makes promotions/ID with STATE "pending", on disk before it returns; *ret_lock_fd keeps others from taking it for
 * something a killed process left.
 */
int promotion_begin(const struct store *store, const struct promotion_entry *entry,
		    const struct str *paths, int *ret_lock_fd, struct error *err);
/* The same for one that is there; ERROR_CONFLICT while another process works on it. */
int promotion_lock(const struct store *store, const char *id, int *ret_lock_fd, struct error *err);
/* Writes the record anew. IS_PENDING false: nothing is left to be finished. */
int promotion_save(const struct store *store, const struct promotion_entry *entry, bool is_pending,
		   struct error *err);
/* The host is what was promoted: from now on that is the base of the sandbox it came from, if that still is there. */
int promotion_settle(const struct store *store, const struct promotion_entry *entry,
		     struct error *err);

/* The same for objects: they are there, and nothing will ever take them back, so the promotion is forgotten. */
int promotion_settle_objects(const struct store *store, const struct promotion_entry *entry,
			     struct error *err);

/*
 * After an undo, also one that was killed and finished later: names that only slots still have are given up, and what had
 * not moved before it was promoted has not moved now, though the kernel noted renames.
 */
int promotion_note_restored(const struct store *store, const struct promotion_entry *entry,
			    struct error *err);

/* The mark of a renamed directory; user namespaces know none. */
#define PROMOTION_MARK "trusted.overlay.redirect"

/* Where a layer lies below the store, NULL when it does not, in *ret_place, which the caller owns. */
int promotion_layer_place(const struct store *store, int layer_fd, char **ret_place,
			  struct error *err);

/*
 * Notes MARKS in PROMOTION_FD: of each the index of its layer, the place in it, its value, and the directory's own path.
 * They are changed to the latter when the host has the new names, and back when it has the old ones.
 */
int promotion_note_marks(const struct store *store, const struct view_stack *stack,
			 const struct strv *marks, int promotion_fd, struct error *err);
int promotion_turn_redirects(const struct store *store, const char *id, bool is_back,
			     struct error *err);

/*
 * Finishes or reverses promotion ID, or what is unfinished of TARGET. 0 also when another process works on it; -1: it
 * stays unfinished; ERR holds the reason.
 */
int promotion_finish(const struct store *store, const char *id, struct error *err);
int promotion_finish_target(const struct store *store, const char *target, struct error *err);

/* The directory that holds the staging directory of a transaction in DIRECTORY: one of the user's, which stays. Owned. */
char *promotion_place_above(const char *directory);

/* As if it had never been begun. */
void promotion_drop(const struct store *store, const char *id);

int promotion_read(const struct store *store, const char *id, struct promotion_entry *ret_entry,
		   struct error *err);
int promotion_parse(const char *bytes, size_t len, struct promotion_entry *ret_entry,
		    struct error *err);

/* Whether it was taken back. One that is no longer known, or damaged, was not; one that cannot be read now is an error. */
int promotion_is_undone(const struct store *store, const char *id, bool *ret_is_undone,
			struct error *err);

/* What it changed, relative to its target. */
int promotion_paths(const struct store *store, const struct promotion_entry *entry,
		    struct strv *ret_paths, struct error *err);

/* Ids of all, newest first. */
int promotion_ids(const struct store *store, struct strv *ret_ids, struct error *err);

/* promotions/NAME ("" for promotions itself). */
int promotion_open_directory(const struct store *store, const char *name, int *ret_fd,
			     struct error *err);

#endif
