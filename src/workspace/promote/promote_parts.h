/* SPDX-License-Identifier: Apache-2.0 */
/* A promotion being worked out: what its selection, judgement, consent, plan and staging share. Private to promote. */
#ifndef WORKSPACE_PROMOTE_PARTS_H
#define WORKSPACE_PROMOTE_PARTS_H

#include "workspace/promote/conflict.h"
#include "workspace/consent/consent_rule.h"
#include "workspace/base/promotion.h"
#include "workspace/txn/stage.h"

#define NO_ITEM SIZE_MAX

enum item_fate {
	FATE_LEFT,    /* the host stays as it is */
	FATE_APPLIED, /* the host gets it */
	FATE_OPEN,    /* a conflict without a decision */
};

enum item_content { CONTENT_THEIRS, CONTENT_OURS, CONTENT_MERGED };

/* One changed path of the workspace. A rename is two: what is new, and what is gone. */
struct item {
	struct delta_entry entry; /* texts are the delta's */
	const char *path;	  /* relative to the workspace, and to the target */
	const char *place; /* where the target has it: elsewhere when its directory was renamed */
	size_t twin;	   /* the other half of a rename */
	size_t parent;	   /* the item of its directory */
	size_t carrier;	   /* the item whose step in the transaction brings this one along */
	size_t mate; /* the next item of the same inode in the sandbox, in a ring; itself when alone */
	size_t leader;	    /* the first of that ring */
	size_t staged;	    /* of a leader: the one of its ring that was staged last */
	size_t op;	    /* its step, when it has one of its own */
	const char *anchor; /* the target's file that it becomes another name of; or NULL */
	struct txn_identity anchored; /* that file, as it was looked at */
	bool is_selected, is_left;    /* is_left: stays in the sandbox, whatever was selected */
	bool is_carried; /* ignored by git, and in a renamed directory that is promoted */

	struct origin origin;
	struct txn_identity now; /* what the target has */
	char *now_link;
	char now_sha256[SHA256_HEX_SIZE], new_sha256[SHA256_HEX_SIZE]; /* "" until asked for */
	struct verdict verdict;
	enum item_fate fate;

	/* What the host gets, when it does. */
	char type; /* 0: nothing any more */
	enum item_content content;
	struct str merged;
	struct stage_meta meta;
	struct xattr_list xattrs;
	struct xattr_list merged_xattrs; /* of both sides, until the item is composed */
};

/* A directory that a layer shows under another name than what lies below has it. */
struct moved {
	size_t layer;
	char *place, *mark; /* in the layer; what that has of it */
	char *own;	    /* its path below the unit's, with a leading slash */
	char *path;	    /* relative to the workspace */
	char *source;	 /* where it came from, relative to the workspace; NULL: from outside it */
	bool is_covered; /* an older layer has something at its own path (promote_unfold.c) */
};

struct promote {
	struct sandbox *sandbox;
	struct view_stack *stack;
	const struct promote_request *request;
	struct promotion *promotion; /* what the caller gets */
	struct delta delta;
	struct origin_index *origins;
	struct item *items; /* sorted by path */
	struct moved *moved;
	struct txn_op *ops;
	size_t count, moved_count, op_count; /* of these three */
	struct strv texts;		     /* paths that only this list owns */
	char *target;			     /* absolute */
	int target_fd;
	bool is_workspace; /* the target is the sandbox's own workspace */
	struct consent_caller caller;
	struct git_tree *tree;	  /* the target as it will be */
	struct branch_move *move; /* of commits, once looked at; or NULL */
	struct promotion_entry entry;
	int lock_fd; /* of the entry, once it is begun */
};

/* promote_select.c */
int promote_list(struct promote *promote, struct error *err);
int promote_select(struct promote *promote, struct error *err);
/* Sorts the items and finds their parents, twins and mates. */
void promote_link_items(struct promote *promote);
/* The item of PATH (relative), or NO_ITEM. */
size_t promote_find(const struct promote *promote, const char *path);
/* PATH as the caller spelled it, as the one spelling below the workspace; owned. NULL: it lies elsewhere, or has "..". */
char *promote_path_asked(const struct promote *promote, const char *path);
/* Whether PATH is PATTERN, lies below it, or matches it as a glob; a changed file that is called PATTERN is meant alone. */
bool promote_matches(const struct promote *promote, const char *pattern, const char *path);
int promote_leave_ignored(struct promote *promote, struct error *err); /* promote_ignored.c */
/* promote_moved.c: renamed directories, promoted whole or not at all; very many of them only with everything. */
int promote_find_moved(struct promote *promote, struct error *err);
void promote_moved_done(struct promote *promote);
int promote_check_moved(const struct promote *promote, struct error *err);
bool promote_select_moved(struct promote *promote);
void promote_leave_moved(struct promote *promote);
int promote_note_moved(const struct promote *promote, struct error *err);
/* promote_judge.c, promote_resolve.c, promote_tree.c */
int promote_judge(struct promote *promote, struct error *err);
/* Whether what a change started from is known well enough to compare with. */
bool promote_has_base(const struct promote *promote, const struct origin *origin);
int promote_resolve(struct promote *promote, struct item *item, struct error *err);
/* What the object is made of when each aspect is taken from the side of its verdict. */
int promote_compose(struct promote *promote, struct item *item, struct error *err);
int promote_merge_item(struct promote *promote, struct item *item, enum merge_favour favour,
		       struct conflict *conflict, struct error *err);
int promote_guard_trees(struct promote *promote, struct error *err);
/* Whether the sandbox's file still has the markers of a merge. */
bool promote_has_markers(const struct promote *promote, const struct item *item);
/* Fills in what the item's path and sides are; the caller sets the rest. */
struct conflict *promote_add_conflict(struct promote *promote, struct item *item, const char *kind);

/* promote_content.c: contents and their digests. */
int promote_open_theirs(const struct promote *promote, const struct item *item, struct error *err);
int promote_open_ours(const struct promote *promote, const struct item *item, struct error *err);
int promote_digest_theirs(const struct promote *promote, struct item *item, struct error *err);
int promote_digest_ours(const struct promote *promote, struct item *item, struct error *err);
/* The number of the device that the host gets. */
dev_t promote_device(const struct item *item);
/* Notes that content HEX lost a conflict: as long as the sandbox is there, it is not collected. */
int promote_keep(const struct promote *promote, const char *hex, struct error *err);

/* consent.c, promote_git.c; promote_ask_for: about PATH because of WHY, unless that was agreed to. */
int promote_ask(struct promote *promote, struct error *err);
int promote_ask_git(struct promote *promote, struct error *err);
void promote_ask_for(struct promote *promote, const char *path, const char *why);
/* Whether nothing that the host has below FROM is to be asked about for being called TO from now on. */
bool promote_carries_quietly(const struct promote *promote, const char *from, const char *to);
/* The mode that the item, of MODE in the sandbox, gets on the host. */
mode_t promote_mode(const struct promote *promote, const struct item *item, mode_t mode);

/* bundle.c: what is applied, as one digest. */
int promote_seal(struct promote *promote, struct error *err);
/* promote_plan.c, promote_stage.c, promote_apply.c */
int promote_plan(struct promote *promote, struct error *err);
int promote_stage(const struct txn_op *op, struct txn_stage *stage, void *cookie,
		  struct error *err);
int promote_apply(struct promote *promote, struct error *err);
/* promote.c: opens the target, after what other promotions left unfinished there; open conflicts are an error. */
int promote_open_target(struct promote *promote, struct error *err);
int promote_check_open(const struct promote *promote, struct error *err);
int promote_artifact(struct promote *promote, struct error *err);
int promote_into_sandbox(struct promote *promote, struct error *err);
#endif
