/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host was when a sandbox first touched a path, and whether it still is that.
 *
 * Copying up makes the layer's inode, so a base whose ctime is older than the layer object's birth has not changed since:
 * it is itself the base version. Capture, after each command and at a seal, writes down identities of what was newly
 * touched and keeps contents up to 1 MiB, while that is still so. What cannot be determined is `lost`, never guessed.
 */
#ifndef WORKSPACE_ORIGIN_H
#define WORKSPACE_ORIGIN_H

#include "workspace/store/cas.h"
#include "workspace/delta/delta.h"
#include "workspace/store/sandbox.h"
#include "workspace/txn/txn.h"

/* Best first. */
enum origin_quality {
	ORIGIN_EXACT,	 /* the host has not changed it: the live file */
	ORIGIN_PINNED,	 /* read from the inode that the host has removed or replaced */
	ORIGIN_CAPTURED, /* copied while it was exact */
	ORIGIN_GIT,	 /* a blob of git's, of a file that was exactly that when it was taken */
	ORIGIN_APPROX, /* what git had there before: an ancestor, taken for the base only by order */
	ORIGIN_LOST,
};

const char *origin_quality_name(enum origin_quality quality);

struct origin {
	enum origin_quality quality;
	struct txn_identity identity; /* of the base; exists false: there was nothing */
	char *link;		      /* target of a link, else NULL */
	bool is_merged_in; /* both versions were merged in the sandbox, perhaps with markers (promote --into-sandbox) */
	char *from; /* there was nothing, and the sandbox renamed this to it; else NULL */
	char sha256
		[SHA256_HEX_SIZE]; /* of its content, where that is kept or was promoted; "" otherwise */
	char xattrs
		[SHA256_HEX_SIZE]; /* digest of its attributes; "" when it has none or it is unknown */
};

void origin_done(struct origin *origin);

struct origin_records;

/*
 * After a command or before a seal: records what DELTA (top against the host) touched since last time. O(new copy-ups).
 * Where there are bases among it whose content could not be kept, *ret_unkept (may be NULL) has them, and those of earlier
 * times that no blob of git's is known of yet (origin_blob.h); it is set in any case.
 */
int origin_capture(struct sandbox *sandbox, const struct view_stack *stack,
		   const struct delta *delta, struct origin_records *ret_unkept, struct error *err);

/* The same of the host's inodes that files in the whole top are copies of, until UNTIL_NS (CLOCK_MONOTONIC). */
int origin_capture_copied(const struct sandbox *sandbox, const struct view_stack *stack,
			  uint64_t until_ns, struct error *err);

/* What was written down over all layers of a sandbox, read once for many questions. */
struct origin_index;

int origin_index_open(const struct sandbox *sandbox, const struct view_stack *stack,
		      struct origin_index **ret_index, struct error *err);
void origin_index_close(struct origin_index *index);

/* The base of one changed path. */
int origin_find(const struct origin_index *index, const struct delta_entry *entry,
		struct origin *ret_origin, struct error *err);

/* Content of the base for a merge; -1 with ERROR_NOT_FOUND when it is lost. */
int origin_open(const struct origin_index *index, const struct delta_entry *entry,
		const struct origin *origin, int *ret_fd, struct error *err);

/* Takes out of DELTA (the present against the host) what was promoted merged or narrowed, and is as it was then. */
void origin_drop_settled(const struct sandbox *sandbox, const struct view_stack *stack,
			 struct delta *delta);

enum stale_kind { STALE_NOT, STALE_CHANGED, STALE_GONE, STALE_APPEARED };

struct stale_entry {
	char *path;
	enum stale_kind kind;
	uint64_t changed_ms; /* when the host moved; 0 when unknown (deleted) */
};

struct staleness {
	struct stale_entry *items; /* touched paths that moved on the host, oldest first */
	size_t count;
	struct stale_entry *
		drift; /* others in the workspace that moved since the base was taken; at most 1,000 kept */
	size_t drift_kept;
	uint64_t drift_count;
	bool is_partial;    /* time ran out: counts are a floor */
	bool clock_stepped; /* times could not be compared; identities and contents were */
};

/* WALK_UNTIL_NS (CLOCK_MONOTONIC): also look for drift, by a walk of the workspace that ends by then; 0: do not. */
int origin_staleness(const struct sandbox *sandbox, const struct view_stack *stack,
		     const struct delta *delta, uint64_t walk_until_ns,
		     struct staleness *ret_staleness, struct error *err);
void staleness_done(struct staleness *staleness);

#endif
