/* SPDX-License-Identifier: Apache-2.0 */
/* A delta being read: what its walk, its comparisons and its search for renames share. Private to delta. */
#ifndef WORKSPACE_DELTA_PARTS_H
#define WORKSPACE_DELTA_PARTS_H

#include "base/hash/sha256.h"
#include "workspace/delta/delta.h"
#include "workspace/disk/delta_names.h"
#include "workspace/disk/path_set.h"
#include "workspace/view/view_parts.h"

/* Which rules hold for everything below a directory. */
enum delta_zone {
	ZONE_MIXED,   /* each entry has to be asked */
	ZONE_INSIDE,  /* in the workspace */
	ZONE_OUTSIDE, /* not in it */
	ZONE_SKIPPED, /* no change: covered by another unit, or made anew in every sandbox */
};

/* A directory being compared. */
struct delta_frame {
	struct view_dir new; /* sources of the newer point's */
	size_t split;	     /* of these, the first that is the older point's */
	struct view_dir old; /* of the older point's; with is_shared the tail of `new` */
	bool is_moved;	     /* it, or one above it, was renamed: its old path is another */
	bool is_unseen; /* made inside without having seen the host's: what only that has is no deletion */
	bool is_hiding; /* it, or one above it, shows nothing of the host's directory of that name */
	bool is_shared; /* what shines through from the older point is the older point's directory */
	size_t path_len;	    /* of the walk's path */
	struct view_path *old_path; /* where it was, and how much of that text */
	size_t old_len;
	enum delta_zone zone;
	struct delta_names below; /* directories still to be entered */
	size_t next;
};

struct delta_walk {
	const struct view_stack *stack;
	const struct delta_options *options;
	const struct layer_units *units;
	struct delta *delta;
	struct error *err;
	struct view_root root;
	struct origin_index *origins; /* opened when first asked for */
	struct delta_frame *frames;
	size_t depth, capacity, allocated;
	size_t open_fds, open_max; /* descriptors of frames */
	size_t stored;		   /* frames from the bottom that have none */
	struct str path;	   /* absolute, of what is looked at */
	struct str old_name;	   /* the same in the older point, where it had another */
	struct str scratch;
	struct delta_names names;   /* of the directory being listed */
	struct strv gone, replaced; /* old directories: not there, something else there */
	struct path_set claimed;    /* old directories that one of another path is compared with */
	struct path_set moved;	    /* old directories that are elsewhere now */
	char *buffers;		    /* three of DELTA_BUFFER bytes: a listing, two files */
	bool is_hidden;		    /* the walk is through hidden ones */
	uint64_t looked_at, compared, text_bytes;
};

#define FLAG_ORIGIN (1u << 31) /* of an entry, while the delta is read */
#define FLAG_SAME (1u << 30)   /* likewise: unchanged, but for its names perhaps */
#define DELTA_BUFFER (256u << 10)

/* One side of a comparison: an object by the source that has it. */
struct delta_object {
	const struct view_source *at; /* NULL: absent */
	const char *name;
	const struct view_stat *stat;
	const int *fd;	/* of the object itself; NULL: it is not open */
	bool is_merged; /* a directory of the newer point that shows the older point's */
};

/* delta_walk.c */
int delta_walk_unit(struct delta_walk *walk);
/* Compares what is in the directory at the walk's path; FRAME has its sources and is taken over. */
int delta_walk_enter(struct delta_walk *walk, struct delta_frame *frame);
/* Enters what is left to be entered, until nothing is. */
int delta_walk_rest(struct delta_walk *walk);
void delta_set_path(struct delta_walk *walk, size_t len, const char *name);
void delta_add_added(struct delta_walk *walk, const struct delta_object *new);
void delta_add_both(struct delta_walk *walk, const struct delta_frame *frame,
		    const struct delta_object *new, const struct delta_object *old);
/* Whether old directory NAME may be compared with what is there now; false when it is elsewhere. */
bool delta_claim(struct delta_walk *walk, const struct delta_frame *frame, const char *name);
int delta_fail(struct delta_walk *walk);
/* The directory at the walk's path, or of FRAME (then 0), may not be read or searched: listed by its name, nothing is promoted without it. */
void delta_note_closed(struct delta_walk *walk);
int delta_note_unsearchable(struct delta_walk *walk, const struct delta_frame *frame);

/* delta_enter.c: the directory with INDEX below the present one. */
int delta_walk_below(struct delta_walk *walk, size_t index);

/* delta_gone.c */
int delta_walk_root(struct delta_walk *walk);
int delta_walk_hidden(struct delta_walk *walk);
bool delta_add_gone(struct delta_walk *walk, const struct delta_object *old);

/* delta_frame.c: takes the parts of FRAME over. */
struct delta_frame *delta_frame_push(struct delta_walk *walk, struct delta_frame *frame);
int delta_frame_pop(struct delta_walk *walk);
const struct view_dir *delta_frame_old(const struct delta_frame *frame, struct view_dir *tail);

/* delta_bound.c: whether there is room and time; marks the delta when not. */
bool delta_may_look(struct delta_walk *walk);
bool delta_may_compare(struct delta_walk *walk, uint64_t len);
bool delta_may_keep(struct delta_walk *walk, size_t text_len);
enum delta_zone delta_zone_of(const struct delta_walk *walk, const char *path);

/* delta_compare.c: aspects in which the two differ (same type, both there); may add flags. */
unsigned delta_compare(struct delta_walk *walk, const struct delta_object *new,
		       const struct delta_object *old, unsigned *flags);

/* delta_attribute.c */
bool delta_attributes_differ(const struct view_stack *stack, const struct delta_object *new,
			     const struct delta_object *old, unsigned *flags);
/* Adds FLAG_ORIGIN when the kernel noted where it was copied up from. */
int delta_attributes_read(const struct view_stack *stack, const struct delta_object *object,
			  struct xattr_list *ret_list, unsigned *flags);

/* delta_entry.c: PATH is the entry's, FROM its old one when renamed. */
struct delta_found {
	enum delta_op op;
	unsigned aspects, flags;
	const char *path, *from;
	struct delta_object new, old;
};
void delta_add(struct delta_walk *walk, const struct delta_found *found);
char *delta_text(struct delta *delta, const char *bytes, size_t len);

/* delta_link.c: names of one file. */
bool delta_is_kept(const struct delta_walk *walk, const struct delta_object *new);
void delta_find_links(struct delta_walk *walk);
/* delta_rename.c: joins deletions and additions of files. */
void delta_find_renames(struct delta_walk *walk);
void delta_drop_nameless(struct delta *delta);

/* delta_origin.c: joins an addition with the deletion of the file it was copied up from. */
struct delta_half {
	struct delta_entry *entry; /* without a path once it is joined */
	bool is_deleted, is_hashed;
	char sum[SHA256_HEX_SIZE];
};
void delta_join(struct delta_walk *walk, struct delta_half *from, struct delta_half *to);
void delta_join_origins(struct delta_walk *walk, struct delta_half *halves, size_t count);

/* delta_open.c: the directory of a side, for asking; name of the object in it. -1 with errno. */
int delta_open_parent(const struct view_stack *stack, const struct delta_side *side,
		      char ret_name[static 256]);

#endif
