/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of origin.h share: the records of a sandbox at hand, and whether times can be compared. */
#ifndef WORKSPACE_ORIGIN_INDEX_H
#define WORKSPACE_ORIGIN_INDEX_H

#include "workspace/base/origin_record.h"

#define ORIGIN_KEPT_MAX (1u << 20) /* contents up to this are kept */

/* A directory of the host: when it was last changed, and since when it is the one that it is. */
struct origin_level {
	size_t len; /* of its path */
	uint64_t changed_ns, since_ns;
};

/* A directory that counted as the one it was at THEN_NS, and the first entry whose base was decided by that. */
struct origin_proof {
	char *directory, *entry;
	uint64_t then_ns;
};

/* The directory that was asked for last, those above it that count, the topmost first, and all that proved a base. */
struct origin_directory {
	char *path;
	struct origin_level *levels;
	struct origin_proof *proofs;
	size_t count, proof_count; /* of levels and proofs */
};

struct origin_index {
	const struct sandbox *sandbox;
	const struct view_stack *stack;
	struct origin_records touched;	/* of all layers, the oldest first, the top last */
	struct origin_records promoted; /* by promotions of this sandbox, later ones last */
	struct origin_records restored; /* by taking such promotions back */
	struct origin_records undone;	/* what those had promoted */
	struct origin_records blobs;	/* what git has of large ones (origin_blob.h) */
	uint64_t top_at_ns;		/* when the top was last captured; 0: never */
	uint64_t
		fresh_ns; /* a time before every change that has no record yet (moments.h); 0: unknown */
	struct origin_directory *last_directory; /* that was asked for */
	struct origin_own *own; /* what the sandbox's own layers hold; listed when asked for */
	struct origin_copied *copied; /* what it has copied up, by inode; listed when asked for */
	int workspace_fd;
	bool is_same_place; /* the workspace is the directory that was mounted */
	bool times_hold;    /* the clock was not set back since the base was taken */
	uint64_t slack_ns;  /* by which it was, though too little to matter otherwise */
};

/* What of PATH was written down; NULL for nothing. */
const struct origin_record *origin_index_record(const struct origin_index *index, const char *path);

/* Whether it was noted that the host's directory PATH does not show (ORIGIN_HIDDEN). */
bool origin_is_noted_hidden(const struct origin_index *index, const char *path);

/* Whether the last promotion of PATH was taken back. */
bool origin_index_is_undone(const struct origin_index *index, const char *path);

/* Where the base of ENTRY lies on the host: elsewhere than its path when a directory above it was renamed. */
const char *origin_base_path(const struct view_stack *stack, const struct delta_entry *entry);

/* What the host has at PATH (absolute) now. 0, or -1 with errno: what cannot be seen is not absent. */
int origin_index_look(const struct origin_index *index, const char *path,
		      struct txn_identity *ret_identity);

/* Whether an object that last changed at CTIME_NS was as it is now when THEN_NS was. */
bool origin_index_is_before(const struct origin_index *index, int64_t ctime_ns, uint64_t then_ns);

/* Whether ENTRY's object was copied from something that lay below it, whose inode is in *ret_ino, or 0. */
bool origin_is_copied_up(const struct view_stack *stack, const struct delta_entry *entry,
			 uint64_t *ret_ino);

/* Whether a directory above SIDE's object in its layer was renamed or made: what it was copied from has another path. */
bool origin_is_in_moved(const struct view_stack *stack, const struct delta_side *side);

/* Whether a directory above it was made by THEN_NS, in this layer or one below: nothing of the host shows in that. */
bool origin_is_in_made(const struct view_stack *stack, const struct delta_side *side,
		       uint64_t then_ns);

/*
 * Whether LAYER has anything at path BELOW of UNIT, or above it something that does not show what lies below; the birth of
 * that (0: unknown) is in *ret_birth_ns. 1, 0, or -1 with errno.
 */
int origin_find_cover(const struct view_stack *stack, size_t layer, const char *unit,
		      const char *below, uint64_t *ret_birth_ns);

/*
 * What was written down about the path, in the sandbox's own layers, that ENTRY's object was copied up from: the sandbox
 * made it there itself, and then gave it another name. NULL: it was copied from elsewhere, or that is unknown.
 */
const struct origin_record *origin_own_find(const struct origin_index *index,
					    const struct delta_entry *entry);
struct origin_own *origin_own_new(void);
void origin_own_free(struct origin_own *own);

/* Whether the sandbox has copied up the file that the host has NOW, and the host has changed or renamed it since. */
bool origin_is_changed_since_copied(const struct origin_index *index,
				    const struct txn_identity *now);
struct origin_copied *origin_copied_new(void);
void origin_copied_free(struct origin_copied *copied);

/*
 * The base of a path nothing was written down about: what times and layers show. NOW is what the host has. Lost, but known
 * to have been there: its inode is in the identity, if known.
 */
void origin_work_out(const struct origin_index *index, const struct delta_entry *entry,
		     const struct txn_identity *now, struct origin *ret_origin);

/*
 * To be asked after the last base was worked out: the path of an entry above which the host replaced a directory since
 * that was looked at, so that the base may be a file of another directory. NULL: all of them hold.
 */
const char *origin_index_find_replaced(const struct origin_index *index);
void origin_directory_free(struct origin_directory *directory);

/* Fills ORIGIN, lost so far, from the inode of the base if that is still to be had. */
int origin_pin(const struct origin_index *index, const struct delta_entry *entry,
	       struct origin *origin, struct error *err);

/*
 * Keeps the content of FD, whose IDENTITY was taken before it is read. What is changed meanwhile is not that any more:
 * then there is no digest (""), since a base that the host had only later would hide the host's change.
 */
int origin_keep(const struct store *store, int fd, const struct txn_identity *identity,
		char ret_hex[static SHA256_HEX_SIZE], struct error *err);

/* Whether RECORD's base is a file whose content the host alone has. */
bool origin_is_unkept(const struct origin_record *record);

/* Adds a base of RECORD's path and identity, and the name of its BLOB (may be NULL), to RECORDS. */
void origin_blobs_put(struct origin_records *records, const struct origin_record *record,
		      const char *blob);
/* Adds those that are unkept, that the host still has and no blob is known of. */
void origin_blobs_unknown(const struct origin_index *index, struct origin_records *records);

/* Digest of attributes: "" for none. */
void origin_digest_xattrs(const struct xattr_list *list, char ret_hex[static SHA256_HEX_SIZE]);

#endif
