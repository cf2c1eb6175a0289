/* SPDX-License-Identifier: Apache-2.0 */
/* The parts a transaction is worked on by, file by file. */
#ifndef WORKSPACE_TXN_PARTS_H
#define WORKSPACE_TXN_PARTS_H

#include "workspace/txn/txn_state.h"

void txn_init(struct txn *txn);
void txn_done(struct txn *txn);
void txn_item_init(struct txn_item *item);

/* txn_log.c: between memory and journal. */
void txn_log_begin(struct txn *txn);
void txn_log_place(struct txn *txn, const struct txn_place *place);
void txn_log_items(struct txn *txn);
/* A record that carries nothing but the time. 0, or -1 with errno. */
int txn_log_end(struct txn *txn, enum journal_type type);
/* Fills TXN from records; what makes no sense is ERROR_INPUT. Pure. */
int txn_log_parse(struct txn *txn, const char *bytes, size_t len, struct error *err);
/* Whether PATH is relative, without empty parts, "." and "..". */
bool txn_path_is_clean(const char *path);

/* txn_identity.c */
bool txn_is_same(const struct txn *txn, const struct txn_identity *a, const struct txn_identity *b);
/* The same object, with unchanged content, mode and owner. */
bool txn_is_unchanged(const struct txn *txn, const struct txn_item *item,
		      const struct txn_identity *want, const struct txn_identity *got);
/* What is at NAME is that, and so is everything below it. */
bool txn_is_intact(const struct txn *txn, const struct txn_item *item,
		   const struct txn_identity *want, int dir_fd, const char *name);

/* txn_where.c: the directories things are in. */
int txn_where_prepare(struct txn *txn, struct error *err);
/* The directory and the last name of an item's path, or of where it moves. -1 with errno. The descriptor stays ours. */
int txn_where(struct txn *txn, size_t item, bool to, int *ret_fd, const char **ret_name);
/* The directory and name of an item's slot; AS_BACKUP: where an old object waits when exchange is not to be had. */
int txn_slot(struct txn *txn, size_t item, bool as_backup, int *ret_fd,
	     char ret_name[static TXN_NAME_SIZE]);
/* Opens the directory an item of kind META is about. */
int txn_where_directory(struct txn *txn, size_t item, int flags);
/* Whether the directories worked in still are where they were found; ESTALE and the item when not. */
int txn_where_check(struct txn *txn, size_t *ret_item);
/* Forgets what is open: the items stand differently than was assumed. */
void txn_where_close(struct txn *txn);
void txn_where_done(struct txn *txn);

/* txn_place.c: making and removing the directories. */
/* Directories a transaction may lie in, all on the target's mount, best first. */
int txn_place_bases(const struct txn *txn, const struct txn_target *target, struct strv *ret_bases,
		    struct error *err);
/* Makes and locks the transaction's directory in the first of BASES that will have it. */
int txn_place_begin(struct txn *txn, const struct strv *bases, struct error *err);
/* A place for each mount that items lie on; made on the disk, named in the journal first. */
int txn_place_all(struct txn *txn, struct error *err);
/* Reads a transaction of an earlier process; _open locks it, for changing it. */
int txn_place_read(struct txn *txn, const char *directory, struct error *err);
int txn_place_open(struct txn *txn, const char *directory, struct error *err);
/* Removes slots, journal and directories; the journal goes first, so that a half removed one counts as none. */
int txn_place_remove(struct txn *txn, struct error *err);
/* The same of one that no store knows, whatever its state. Its journal is believed about its own directory only. */
int txn_place_remove_orphan(struct txn *txn, struct error *err);

/* txn_meta.c */
int txn_meta_read(int fd, bool with_xattrs, struct txn_attributes *ret_meta);
/* All of it, and waits for the disk. 0, or -1 with errno. */
int txn_meta_set(int fd, const struct txn_attributes *meta);
int txn_meta_apply(struct txn *txn, size_t item, bool forward);
/* Lets the owner into directories whose mode is changed at the end. */
int txn_meta_loosen(struct txn *txn);
void txn_attributes_done(struct txn_attributes *meta);

/* txn_times.c */
void txn_times_note(struct txn_parent *parent, int fd);
/* Before an undo: which directories are unchanged since. Afterwards: their times. */
void txn_times_find(struct txn *txn);
void txn_times_restore(struct txn *txn);

/* txn_sync.c */
int txn_sync_staged(struct txn *txn);
int txn_sync_journal(struct txn *txn);
int txn_sync_parents(struct txn *txn);

/* txn_check.c: -1 with ERROR_CONFLICT and what is in the way in RESULT. */
/* Before anything is written: targets are as planned, and can be displaced. */
int txn_check_plan(struct txn *txn, struct txn_result *result, struct error *err);
/* Before COMMIT: they still are. */
int txn_check_again(struct txn *txn, struct txn_result *result, struct error *err);
/* Before a finished transaction is taken back. */
int txn_check_reversal(struct txn *txn, struct txn_result *result, struct error *err);

/* How an item stands. */
enum txn_progress {
	PROGRESS_OLD,	      /* as before */
	PROGRESS_NEW,	      /* applied */
	PROGRESS_OLD_CHANGED, /* not applied, and the target is not what it was: can only stay */
	PROGRESS_NEW_CHANGED, /* applied, and changed since: can only stay */
	PROGRESS_LOST,	      /* neither can be determined */
	PROGRESS_UNSEEN,      /* stat failed; errno is set */
};

/* txn_progress.c */
/* Whether the object at PATH came there, or will leave it, by another item than ITEM. */
bool txn_is_ours(const struct txn *txn, size_t item, const char *path,
		 const struct txn_identity *got);
enum txn_progress txn_progress(struct txn *txn, size_t item);
/* Ends a replacement without exchange that was cut short, one way or the other. 0, or -1 with errno. */
int txn_settle(struct txn *txn, size_t item);

/* txn_apply.c */
/* Brings one item over. -1 with errno; ESTALE: the target was not what it should be, and is as it was. */
int txn_apply_one(struct txn *txn, size_t item, bool forward);
/*
 * Brings all items over that are not there yet, syncs; on failure brings those back that it moved. *ret_item is the one
 * that failed, or TXN_NONE_INDEX; *ret_stuck: not all could be brought back.
 */
int txn_apply_all(struct txn *txn, bool forward, size_t *ret_item, bool *ret_stuck);

/* txn_conflict.c */
void txn_conflict_add(struct txn_result *result, const struct txn *txn, size_t item,
		      const char *kind);
void txn_conflict_add_path(struct txn_result *result, const char *path, const char *kind);
/* The conflict that errno means for an item that could not be brought over; NULL when it is none. */
const char *txn_conflict_kind(const struct txn *txn, size_t item);
int txn_conflict_error(const struct txn_result *result, struct error *err);

/* txn_recover.c */
/* With directory open, locked and read, and the root locked. */
int txn_recover_locked(struct txn *txn, enum txn_state *ret_state, struct error *err);
/* Recovers what unfinished transactions of the same target lie in BASE, of those that PLAN knows. */
int txn_recover_others(const struct txn *mine, const struct txn_plan *plan, const char *base,
		       struct error *err);

/* txn.c, txn_swap.c: the steps that exchanging a whole target has in common with the rest. */
int txn_open_target(struct txn *txn, const struct txn_plan *plan, struct error *err);
int txn_add_ops(struct txn *txn, const struct txn_plan *plan, struct error *err);
/* IS_SWAP: the one operation replaces a target whole. */
int txn_run_plain(const struct txn_plan *plan, bool is_swap, struct txn_result *result,
		  struct error *err);
int txn_swap(const struct txn_plan *plan, struct txn_result *result, struct error *err);

/* txn_undo.c */
enum txn_state txn_state_from(enum journal_type last);
/* A transaction of an earlier process, with its target, locked. */
int txn_open_locked(struct txn *txn, const char *directory, struct error *err);

#endif
