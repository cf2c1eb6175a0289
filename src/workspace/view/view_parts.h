/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of a view as lists of real ones: what lookups and walks share. Private to view and delta. */
#ifndef WORKSPACE_VIEW_PARTS_H
#define WORKSPACE_VIEW_PARTS_H

#include "workspace/disk/identity.h"
#include "workspace/view/view.h"

#include <stdint.h>

/* A path that grows with a walk; directories along one chain share it, each counting on its own first bytes. */
struct view_path {
	struct str
		text; /* below the unit's directory, with a leading slash; "" for the directory itself */
	unsigned users;
};

/* A real directory that contributes to one of the view. */
struct view_source {
	int fd;	      /* -1 while it is put away */
	size_t layer; /* count of layers: the base */
	struct view_path *path;
	size_t len;    /* of the path, that are this directory's */
	size_t parent; /* index in the directory above that it was found in; SIZE_MAX: elsewhere */
	uint64_t dev, ino; /* to know it again */
};

struct view_dir {
	struct view_source *items; /* newest layer first, the base last */
	size_t count;
};

void view_dir_done(struct view_dir *dir);

/* One unit's directories at the root of everything. */
struct view_root {
	const struct view_stack *stack;
	const struct layer_unit *unit;
	struct view_dir dir;
};

/* FROM: first layer that counts. A base that is masked, or no directory, is not there. */
int view_root_open(const struct view_stack *stack, const struct layer_unit *unit, size_t from,
		   struct view_root *ret_root, struct error *err);
void view_root_close(struct view_root *root);

struct view_stat {
	struct stat st;
	uint64_t btime_ns;
};

/* What is asked of a directory of the view. */
struct view_seek {
	const struct view_root *root;
	const struct view_dir *dir;
	const char *name;
	size_t first;	   /* index of the first source that may have it */
	size_t split;	   /* layers from here on are the older point's */
	bool is_path_kept; /* the sources' paths are in use for something else: found ones get copies */
};

struct view_found {
	bool exists;
	bool is_opaque;
	bool is_plain; /* layers from `split` on were asked for the same name in the same directory */
	bool is_forged; /* marks that no kernel wrote: nothing below them was believed */
	bool is_closed; /* a directory that could not be opened */
	size_t where;	/* index of the source that has it */
	size_t layer;
	struct view_stat stat;
	struct view_dir dir;	     /* a directory's sources */
	struct view_stat split_stat; /* of the first source from `split` on */
	char *split_name; /* what layers from `split` on were asked for, when a redirect changed it */
};

void view_found_done(struct view_found *found);

/* Looks one name up; absent is no error. -1 with errno when descriptors or memory ran out. */
int view_seek(const struct view_seek *seek, struct view_found *ret_found);

/* Object NAME in one source, as the kernel would see it there: 1 there, 0 absent, 2 whiteout, -1 with errno. */
enum view_probe {
	VIEW_PROBE_FAILED = -1,
	VIEW_PROBE_ABSENT,
	VIEW_PROBE_THERE,
	VIEW_PROBE_WHITEOUT
};
enum view_probe view_probe(const struct view_root *root, const struct view_source *at,
			   const char *name, struct view_stat *ret_stat);

/* Opens directory NAME of source AT; -1 with errno. Layers' can be listed, the base's only asked. */
int view_open_directory(const struct view_root *root, const struct view_source *at,
			const char *name);

/* The source NAME below AT; takes FD over. With COPY its path is its own. */
struct view_source view_source_below(const struct view_source *at, const char *name, int fd,
				     const struct view_stat *stat, bool copy);
void view_source_done(struct view_source *source);

/*
 * Looks PATH up, name by name, below the unit's directory; layers before FROM do not count. *ret_dir gets the sources of
 * the directory it lies in (empty for the unit's own), *ret_name its name there. -1 with errno; EINVAL: no plain path.
 */
struct view_place {
	struct view_found found;
	struct view_dir
		outer; /* sources of the directory it lies in; empty for the unit's own directory */
	char name[256];
	bool is_unit; /* PATH is the unit's directory itself: `found` is not set */
};
int view_find(const struct view_root *root, size_t from, const char *path,
	      struct view_place *ret_place);
void view_place_done(struct view_place *place);

/* Sources of the unit's directory from layer FROM on; borrowed. */
struct view_dir view_root_from(const struct view_root *root, size_t from);

/* Every unit of the stack's layers, each once, longest path first. */
int view_units(const struct view_stack *stack, struct layer_units *ret_units, struct error *err);

/* Whether PATH is DIR or lies below it; both absolute. */
bool view_is_below(const char *path, const char *dir);

#endif
