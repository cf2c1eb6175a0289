/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of a chain of layers as one: where each really lies, and which directory of the base still shows. */
#ifndef WORKSPACE_FLATTEN_PARTS_H
#define WORKSPACE_FLATTEN_PARTS_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is folded of a unit, where that is not all of it: some directories, and no more than so much. */
struct flat_only {
	const struct strv *paths; /* as a source's path; "" for all of the unit */
	bool (*skips)(const char *path, void *cookie); /* PATH as above: leave it out */
	void *cookie;
	const char *
		unit_path; /* of the host: attributes of what only leads to them are taken from there */
	char *moved; /* with EXDEV: which directory of the base lies there under another name; the caller's */
	bool copies_first; /* the newest layer is written to again: its files are copied, not shared */
	uint64_t files, bytes;	       /* what was folded */
	uint64_t files_max, bytes_max; /* EFBIG beyond */
};

/* One unit of the chain. */
struct flat_unit {
	int *root_fds;	 /* of each layer, newest first; -1: it has none */
	bool user_xattr; /* of all layers; such have no redirects */
	size_t count;
	struct flat_only *only; /* NULL: everything */
};

/* A real directory that contributes. */
struct flat_source {
	size_t layer;
	char *path; /* below the unit, with a leading slash; "" for the unit itself */
	int fd;	    /* -1 while it is not worked on */
};

/* A directory of the folded layer. */
struct flat_dir {
	struct flat_source *items; /* newest first */
	size_t count;
	char *base; /* the base's directory that shows through, as a source's path; NULL: none does */
	char *path; /* its own */
};

/* Closes what is open of it, too. */
void flat_dir_done(struct flat_dir *dir);

/* Opens the sources. 0, or -1 with errno. */
int flat_open(const struct flat_unit *unit, struct flat_dir *dir);

/* The unit's own directory. */
void flat_root(const struct flat_unit *unit, struct flat_dir *ret_dir);

/*
 * Directory NAME of PARENT (opened), known to be one in its source FIRST: what it is made of. 0, or -1 with errno; EBADMSG when a layer
 * has marks that no kernel wrote.
 */
int flat_enter(const struct flat_unit *unit, const struct flat_dir *parent, size_t first,
	       const char *name, struct flat_dir *ret_dir);

/* Folds all that UNIT has into the empty directory OUT_FD. 0, or -1 with errno. */
int flatten_unit(const struct flat_unit *unit, int out_fd);

#endif
