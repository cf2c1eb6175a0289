/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of the clone: a list of detached mounts and the places they go.
 *
 * Root callers (root_idmapped): the supervisor, still privileged, makes one overlay per real mount of the host over an
 * idmapped clone of it. Plain users (root_forest): init, inside its user namespace, makes one overlay per top-level
 * directory, because the kernel refuses a lower that has locked mounts below it. Both write into one tmpfs of
 * bounded size; unit N keeps its writable layer in uN, overlay's scratch in wN, its mask in mN.
 */
#ifndef CONFINE_ROOT_H
#define CONFINE_ROOT_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>

#define ROOT_PARTS_MAX 512

struct root_part {
	int mount_fd;
	char *target; /* absolute path inside */
};

/*
 * The detached mounts under the overlays. The overlays keep what they need of them, but closing the last descriptor of one
 * waits for all processors (RCU), for milliseconds on a busy machine: that is left to a process that is not on the
 * critical path.
 */
struct root_held {
	int fds[ROOT_PARTS_MAX * 2];
	size_t count;
};

void root_held_done(struct root_held *held);

/* What the overlays of a root that stays are reconfigured by (mount_drop_names), those that others lie on first. */
struct root_overlay {
	int context_fd;
	bool is_read_only;
	bool has_workspace; /* or a part of it */
};

struct root_overlays {
	struct root_overlay *items;
	size_t count;
};

/* Takes the descriptor over. */
void root_overlays_add(struct root_overlays *overlays, const struct root_overlay *overlay);
void root_overlays_done(struct root_overlays *overlays);

/*
 * Has all of them, or those of the workspace only, forget the names that are not in use, so that the next look is at the
 * host's files as they are then. -1 with errno when the kernel refuses one.
 */
int root_overlays_drop_names(const struct root_overlays *overlays, bool only_workspace);

struct root_parts {
	struct root_part items[ROOT_PARTS_MAX]; /* parents before children */
	size_t count;
	int upper_fd;		       /* the tmpfs with the writable layers; -1 before */
	bool may_lack_places;	       /* the root is one that was written to before */
	bool keeps_overlays;	       /* it is looked at by a later command */
	struct root_held held;	       /* of root_idmapped_build */
	struct root_overlays overlays; /* with keeps_overlays; else none */
	struct strv
		unit_paths; /* host path that unit N clones; "" for a unit that is not a clone of its place */
};

void root_parts_init(struct root_parts *parts);
void root_parts_done(struct root_parts *parts);

/*
 * Whether what is to be mounted exists, is a file or a directory reached without links, and belongs to the caller or to
 * root. Called by the supervisor, which still sees real ids.
 */
int root_check_binds(const struct spec *spec, struct error *err);

/* Supervisor's way: needs CAP_SYS_ADMIN in the initial user namespace. USERNS_FD has the sandbox's id map. */
int root_idmapped_build(const struct spec *spec, int userns_fd, struct root_parts *ret_parts,
			struct error *err);

/*
 * Init's way, with USERNS_FD -1. A directory already in ret_parts->upper_fd is used instead of a new tmpfs. With the
 * sandbox's user namespace what root_idmapped_build does for a project.
 */
int root_forest_build(const struct spec *spec, int userns_fd, struct root_parts *ret_parts,
		      struct error *err);

/*
 * Attaches the first part over a directory of this mount namespace and the others inside it; *ret_root_fd is the new
 * root, still to be pivoted to.
 */
int root_attach(const struct root_parts *parts, int *ret_root_fd, struct error *err);

/* Makes ROOT_FD the root of this mount namespace. The old one is stacked on it: reached by "/..", and by nothing else. */
int root_pivot(int root_fd, struct error *err);

/* Has the old root taken away, and everything of the host with it; no command may enter before root_await_top returns. */
int root_let_go(struct error *err);

/* Returns when nothing is above the new root any more. */
int root_await_top(struct error *err);

#endif
