/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transaction in memory.
 *
 * Both directions are the same work: forward brings the new state, back the old one. `is_new` of each item is its
 * position. Paths of an item are those of the tree after all items before it, so that a file can be replaced in a
 * directory that was moved; txn_where.c turns them into what is there now.
 */
#ifndef WORKSPACE_TXN_STATE_H
#define WORKSPACE_TXN_STATE_H

#include "workspace/txn/journal.h"
#include "workspace/txn/txn.h"

#include <sys/types.h>

#define TXN_VERSION 1u
#define TXN_NAME_SIZE 80
#define TXN_NONE_INDEX SIZE_MAX

/* Attributes of a directory as recorded, owned. */
struct txn_attributes {
	uint32_t mode, uid, gid;
	int64_t mtime_ns;
	bool has_xattrs;
	struct xattr_list xattrs;
};

struct txn_item {
	enum txn_kind kind;
	char *path, *to;
	struct txn_identity old, new;
	struct txn_attributes old_meta, new_meta; /* TXN_META */
	uint32_t place;				  /* where its slot is */
	bool has_inner;				  /* others of the transaction lie below it */
	size_t plan_index;
	bool is_new;		  /* the host has the new state */
	size_t parent, to_parent; /* in the list of parents */
	int lease_fd;
	bool is_busy; /* a writer was seen when it was displaced */
};

/* A directory that slots lie in. */
struct txn_place {
	char *path;	/* absolute; "" when the slots lie beside their targets */
	uint64_t mount; /* id of the mount, of this boot */
	int fd;
};

/* A directory of the tree in which items are, named as it was before the first item. */
struct txn_parent {
	size_t slot; /* the item in whose slot it was; TXN_NONE_INDEX: below the root */
	char *path;
	int fd;
	bool is_touched;  /* to be synced */
	int64_t mtime_ns; /* before the first change; 0: not known */
	bool keeps_time;  /* unchanged by others since */
	bool has_place;
	uint32_t place; /* of its mount */
	size_t next;	/* with the same hash */
};

/* When a directory below the root was changed last, before the transaction. */
struct txn_time {
	char *path;
	int64_t mtime_ns;
};

struct txn {
	char *directory; /* absolute */
	int dir_fd;	 /* locked while a process works on it */
	int base_fd;	 /* the directory above */
	int root_fd;	 /* of the target; locked */
	int swapped_fd;	 /* the target, when the transaction is on the directory above */
	struct journal journal;
	char *id, *digest, *owner, *root;
	const char *store_staging; /* of the plan, while it runs */
	uint64_t root_dev, root_ino;
	uint64_t root_btime_ns; /* 0: not known */
	char boot_id[37];
	bool is_swap;		/* the item replaces the target directory itself */
	bool is_same_boot;	/* device numbers mean the same */
	enum journal_type last; /* the record of its state */
	struct txn_place *places;
	size_t place_count;
	struct txn_item *items;
	size_t count;
	size_t *inner; /* items that change where others are */
	size_t inner_count;
	struct txn_parent *parents;
	size_t parent_count, open_parents, oldest_parent, recent_parents[2];
	struct txn_time *times; /* of directories, as recorded */
	size_t time_count;
	uint64_t done_ms; /* when DONE was written */
	size_t *buckets;  /* of parents, by hash */
	size_t bucket_count;
	struct strv beside;	     /* BESIDE records: paths whose slots may lie about */
	bool is_forced_beside;	     /* the filesystem refused a rename between directories */
	uint64_t descriptors_before; /* the limit, when it was raised for leases; else 0 */
	bool is_leased;		     /* leases were asked for: writers count */
	bool is_stuck;		     /* neither done nor reversed */
	bool has_shared;	     /* slots hold other names of the target's files */
};

#endif
