/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions on a real tree: prepared beside it, committed by one record, applied by renames, taken back by the same
 * renames the other way.
 *
 * A transaction lives in a directory on the target's own filesystem (slots and journal). Order of events:
 *
 *   stage slots            new objects written to slot/N                      (sync A)
 *   BEGIN OP* PREPARED     what will be done, with the old and new identities (sync B)
 *   re-check, COMMIT       the commit point                                   (sync C)
 *   apply                  one rename each; the displaced object takes the slot's place
 *                          parents synced                                     (sync D)
 *   DONE                   the slots now hold the old state: the undo record  (sync E)
 *
 * Killed or cut from power before COMMIT nothing happened; after it, recovery finishes or, when a target was changed
 * meanwhile, reverses; inode identities alone show which step was reached, so repeating is harmless.
 */
#ifndef WORKSPACE_TXN_H
#define WORKSPACE_TXN_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "workspace/disk/identity.h"
#include "workspace/txn/txn_stage.h"
#include "workspace/disk/xattr.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum txn_kind {
	TXN_REPLACE = 1, /* exchange slot and path; also between kinds of objects */
	TXN_ADD,	 /* slot to path, which must be free; a whole new subtree is one */
	TXN_DELETE,	 /* path to slot; a whole subtree is one */
	TXN_MOVE,	 /* path to another path, which must be free; keeps the inode */
	TXN_META,	 /* mode, owner, times, attributes of a directory, in place */
};

struct txn_meta {
	uint32_t mode, uid, gid;
	int64_t mtime_ns;
	const struct xattr_list *xattrs; /* all there are to be; NULL: they stay as they are */
};

struct txn_op {
	enum txn_kind kind;
	char *path;		  /* relative to the target root, raw bytes, no "." or ".." */
	char *to;		  /* TXN_MOVE */
	struct txn_identity old;  /* of path as it was checked; apply refuses anything else */
	struct txn_meta new_meta; /* TXN_META; also what staged objects get */
	void *cookie;		  /* for the stage callback */
};

struct txn_target {
	const char *root;	   /* absolute path */
	const char *store_staging; /* of the store, used when it is on the same mount; or NULL */
	bool swap;		   /* build a sibling tree and exchange the directory itself */
};

struct txn_plan {
	struct txn_target target;
	const char *id;	    /* of the promotion: names the transaction */
	const char *owner;  /* recorded */
	const char *digest; /* of the bundle: what was reviewed */
	struct txn_op *ops;
	size_t count;
	uint64_t bytes; /* what staging will write, as far as known: must fit the free space */
	/*
	 * Called once, when the transaction's DIRECTORY exists and before anything is written to it: recovery after a
	 * crash must know where to look. May be NULL. Anything but 0 abandons the transaction.
	 */
	int (*begun)(const char *directory, void *cookie, struct error *err);
	/*
	 * Writes the new object of OP, complete with mode, owner, times and attributes (stage.h has the tools). Anything but
	 * 0 abandons the transaction before anything happened.
	 */
	int (*stage)(const struct txn_op *op, struct txn_stage *stage, void *cookie,
		     struct error *err);
	/*
	 * Whether the unfinished transaction in DIRECTORY is one of the caller's: others are left alone. 1, 0, or -1
	 * with ERR when the record cannot be read. NULL: all are.
	 */
	int (*is_known)(const char *directory, void *cookie, struct error *err);
	void *cookie;
};

struct txn_conflict {
	size_t op; /* index in the plan; SIZE_MAX for none */
	char *path;
	/* "busy", "changed", "parent-gone", "immutable", "mount-point", "read-only", "swap-file", "not-permitted" */
	const char *kind;
};

/* What came of it, besides the error: conflicts that stopped it (nothing applied). */
struct txn_result {
	struct txn_conflict *conflicts;
	size_t conflict_count;
	char *directory; /* of the transaction, absolute: where the undo record is */
	bool is_left;	 /* it failed, and something is left for txn_recover */
};

/*
 * 0 applied; -1 with ERROR_CONFLICT and the conflicts, or another error: then the target is unchanged, or is_left is
 * set.
 */
int txn_run(const struct txn_plan *plan, struct txn_result *ret_result, struct error *err);
void txn_result_done(struct txn_result *result);

/* What else must be as it was left, looked at while nothing can be opened for writing: fills *ret_changed with paths. */
struct txn_check {
	int (*find_changed)(void *cookie, struct strv *ret_changed, struct error *err);
	void *cookie;
};

/*
 * Takes a finished transaction back; CHECK may be NULL. ERROR_CONFLICT names targets that no longer are what was
 * promoted; then nothing changed. A transaction that was undone already is ERROR_CONFLICT too. After any other failure
 * is_left may be set.
 */
int txn_undo(const char *directory, const struct txn_check *check, struct txn_result *ret_result,
	     struct error *err);
/* Of one taken back: what it had made other names of the host's files is none of those any more. */
void txn_give_up_names(const char *directory);

enum txn_state {
	TXN_NONE,
	TXN_PREPARED,
	TXN_COMMITTED,
	TXN_DONE,
	TXN_ABORTED,
	TXN_UNDOING,
	TXN_UNDONE,
	TXN_STUCK
};

/*
 * Finishes or reverses what a killed process left in DIRECTORY. *ret_state is its state now: TXN_NONE when it never
 * committed (and is removed), DONE, UNDONE, ABORTED, STUCK (both versions kept; ERR explains).
 */
int txn_recover(const char *directory, enum txn_state *ret_state, struct error *err);

/* Removes a finished or undone transaction's directory: it can no longer be undone. */
int txn_forget(const char *directory, struct error *err);
#endif
