/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference between two points of a sandbox, or between a point and the host, as a list of changes.
 *
 * Built from the layers above the older point alone: cost follows the number of changes, never the size of a tree.
 * Equal content is found by comparing bytes. What is only copied up, and directories that are only parents, drop out.
 *
 * Deletions, and `from`, are given by paths of the older point, all else by paths of the newer: what changed in a renamed
 * directory stands under its new path, what is gone from it under its old. To do a delta to a tree, take the old paths
 * first, deepest first (deleted ones away, renamed ones aside), then go through the rest in order.
 */
#ifndef WORKSPACE_DELTA_H
#define WORKSPACE_DELTA_H

#include "workspace/view/view.h"
#include "workspace/disk/xattr.h"

#include <stdint.h>

enum delta_op { DELTA_ADDED, DELTA_DELETED, DELTA_MODIFIED, DELTA_TYPE, DELTA_RENAMED };

/* "added", "deleted", "modified", "type-changed", "renamed"; and git's letter A D M T R. */
const char *delta_op_name(enum delta_op op);
char delta_op_letter(enum delta_op op);

enum delta_aspect {
	ASPECT_CONTENT = 1 << 0, /* bytes of a file, target of a link */
	ASPECT_MODE = 1 << 1,
	ASPECT_OWNER = 1 << 2,
	ASPECT_XATTR = 1 << 3,
	ASPECT_MTIME = 1 << 4, /* alone it is no change unless asked for */
	ASPECT_TYPE = 1 << 5,
	ASPECT_PATH = 1 << 6, /* renamed */
	ASPECT_LINK = 1 << 7, /* another name of a file it was no name of */
};

enum delta_flag {
	FLAG_SETID = 1 << 0,	       /* setuid or setgid gained */
	FLAG_CAPABILITY = 1 << 1,      /* security.* attributes */
	FLAG_SPECIAL = 1 << 2,	       /* fifo, socket, device */
	FLAG_HARDLINK_BROKEN = 1 << 3, /* other names of the base's file keep its content */
	FLAG_TRIGGER = 1 << 4,	       /* promotion asks before it applies this (trigger.h) */
	FLAG_OUTSIDE = 1 << 5,	       /* outside the workspace: listed, never applied */
	FLAG_LINK_OUT = 1 << 6,	       /* a symbolic link that leads out of the workspace */
	FLAG_TOO_LARGE = 1 << 7,       /* not compared to the end: counts as changed */
};

struct delta_side {
	bool exists;
	struct stat st;	   /* as the view shows it */
	uint64_t btime_ns; /* of a layer's object; 0 when unknown */
	size_t layer;	   /* index in the stack; count of layers for the base */
	char *layer_path; /* path below the unit's directory in that layer (or absolute in the base) */
	char unit[LAYER_UNIT_SIZE]; /* with a layer */
	char *link;		    /* target of a symbolic link, else NULL */
};

struct delta_entry {
	enum delta_op op;
	unsigned aspects, flags;
	char *path; /* absolute, raw bytes */
	char *from; /* renamed: the old absolute path; else NULL */
	char *mate; /* another name of the same file, of those that are listed for one file; else NULL */
	char *mate_base; /* where the host has that one, which did not change otherwise; else NULL */
	struct delta_side old, new;
};

struct delta {
	struct delta_texts *texts; /* every text of the entries; they go with the delta */
	struct delta_entry *items; /* sorted by path; parents before children */
	size_t count;
	struct strv
		closed; /* directories of a layer that may not be read: what is in them is not known */
	struct strv
		hiding; /* the host's paths of directories that stand in place of its own and show nothing of it; the topmost */
	bool is_partial; /* not everything was looked at: say so */
	bool is_cut;	 /* for another reason than closed directories: never promote */
	uint64_t added, modified, deleted; /* in the workspace; renamed counts as modified */
	uint64_t added_outside, modified_outside, deleted_outside;
};

struct sandbox;

struct delta_options {
	const char *workspace;
	const struct sandbox *sandbox; /* its records give the bases; NULL: there are none */
	size_t new_from;	       /* the newer point: index of its first layer (0: the top) */
	size_t old_from;    /* the older one: index of its first layer; stack->count: the host */
	bool renames;	    /* find them */
	bool split_renames; /* a renamed directory as renames of the files in it, as git has it */
	bool only_workspace;
	bool mtime; /* report changes of mtime alone */
	bool same; /* also files that were copied up and are still what they were, and whiteouts of nothing */
	bool expand; /* added and deleted directories with every entry of theirs (else files only, as git) */
	uint64_t entries_max, compare_max; /* 0: the defaults (4 million; 64 GiB) */
	uint64_t until_ns;		   /* CLOCK_MONOTONIC; 0: none */
};

int delta_read(const struct view_stack *stack, const struct delta_options *options,
	       struct delta *ret_delta, struct error *err);
void delta_done(struct delta *delta);

/* Counts the items again, after some were taken out. */
void delta_count(struct delta *delta);

#define DELTA_WHY_SIZE 256
/* Why a delta that IS_PARTIAL is, for people, in BUFFER: paths in WORKSPACE are shown as they are below it. */
const char *delta_why_partial(const struct delta *delta, const char *workspace,
			      char buffer[static DELTA_WHY_SIZE]);

/* Orders objects by layer, device and inode: 0 for two names of one. */
int delta_compare_inodes(const struct delta_side *one, const struct delta_side *other);

/* The file behind one side, for reading; -1 with errno. Checks that it is still the object that was compared. */
int delta_open_side(const struct view_stack *stack, const struct delta_side *side);

/* Whether SIDE is the host's own object, and from outside the workspace: by a renamed directory it may be seen in it. */
bool delta_is_from_outside(const struct view_stack *stack, const struct delta_side *side,
			   const char *workspace);

/* Whether SIDE is the host's own object, and the workspace's: under another name, when its directory was renamed. */
bool delta_is_own(const struct view_stack *stack, const struct delta_side *side,
		  const char *workspace);

/* Reads the extended attributes a person set (overlay's own are left out, escaped ones unescaped), sorted by name. */
int delta_xattrs(const struct view_stack *stack, const struct delta_side *side,
		 struct xattr_list *ret_list, struct error *err);

#endif
