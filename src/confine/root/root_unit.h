/* SPDX-License-Identifier: Apache-2.0 */
/* Units: one overlay each over one directory of the host, shared by both ways of making a root. */
#ifndef CONFINE_ROOT_UNIT_H
#define CONFINE_ROOT_UNIT_H

#include "confine/root/root.h"

/* What a named sandbox keeps (root_kept.h); -1 where nothing is kept. */
struct root_kept {
	int top_fd;	  /* the writable top, as it lies on disk */
	int mapped_fd;	  /* the same with the sandbox's ids */
	int layers_fd;	  /* the directory of the sealed layers, with the sandbox's ids */
	struct str units; /* which unit each top belongs to, as noted by earlier starts */
	bool is_new;	  /* the last unit's top was made just now */
};

struct root_builder {
	const struct spec *spec;
	struct root_parts *parts;
	int userns_fd;	  /* -1 in a forest */
	bool is_attached; /* old kernel: layers must be attached in this mount namespace */
	int source_fd; /* what was checked, in place of the next source's path; -1: take the path */
	struct root_kept kept;
	bool is_on_disk; /* the storage is a directory of the host's */
	int beside_fd; /* then a tmpfs for masks that must not lie inside what they mask; -1 until one does */
};

/* Nothing made and nothing kept yet. */
void unit_begin(struct root_builder *ret_builder, const struct spec *spec, struct root_parts *parts,
		int userns_fd);

/* Makes the tmpfs that holds all writable layers. */
int unit_storage(struct root_builder *builder, struct error *err);

/* Lets go of what only making units needed. */
void unit_done(struct root_builder *builder);

/* A clone of the storage's NAME, as a mount of its own. */
int unit_clone_stored(struct root_builder *builder, const char *name, int *ret_fd,
		      struct error *err);

/* A detached clone of SOURCE, or of what was checked in its place. */
int unit_clone_source(struct root_builder *builder, const char *source, int *ret_fd,
		      struct error *err);

/* Appends a part; takes ownership of the descriptor also on failure. */
int unit_add_part(struct root_builder *builder, int mount_fd, const char *target,
		  struct error *err);

/* A copy-on-write view of directory SOURCE at TARGET; MASKED applies the spec's masks below it. */
int unit_add_overlay(struct root_builder *builder, const char *source, const char *target,
		     bool masked, struct error *err);

/* The top and layers of "/" over directory NAME of the storage, for a root that is put together there, and over an image's. */
int unit_mount_over(struct root_builder *builder, const char *name, int *ret_fd, struct error *err);

/*
 * A read-only view of directory SOURCE at TARGET: an overlay, because sockets and fifos of the host would work through a
 * read-only bind. The spec's masks hold in it wherever it is shown. A filesystem that cannot be a layer is
 * bound, unless something in it has to be masked.
 */
int unit_add_view(struct root_builder *builder, const char *source, const char *target,
		  struct error *err);

/* A bind of SOURCE at TARGET with extra attributes (MOUNT_ATTR_RDONLY). For files and what must pass through. */
int unit_add_bind(struct root_builder *builder, const char *source, const char *target,
		  uint64_t attributes, struct error *err);

/* What --ro, --rw and --rw-through ask for. */
int unit_add_binds(struct root_builder *builder, struct error *err);

#endif
