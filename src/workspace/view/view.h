/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox sees, worked out from its layers without mounting anything.
 *
 * A directory of the view is an ordered list of contributions, the top layer's first, then those below, the base last.
 * Looking a name up goes down that list: absent, next; whiteout, stop; something else than a directory, that is it
 * (or the end of a directory already begun); a directory, add it, then stop if it is opaque, go on under the
 * redirect's name if that is relative, start again from the unit's roots of the layers below if it is absolute.
 * Only layers are ever listed; the base is asked by name. The layers may be hostile: every step is by descriptor,
 * no link is followed, depth, entries and time are bounded by the caller (view_limits).
 */
#ifndef WORKSPACE_VIEW_H
#define WORKSPACE_VIEW_H

#include "workspace/store/layer.h"

#include <stdbool.h>
#include <sys/stat.h>

/* The stack of one sandbox: layers newest first (the writable top at 0 when there is one), above the base. */
struct view_stack {
	int *layer_fds;	  /* directories shaped as layers; owned */
	bool *user_xattr; /* of each */
	size_t count;
	struct layer_units
		*units; /* of all layers, deepest path first; owned. NULL: read each time */
	/* Whether the base shows PATH (absolute); what masks hide is absent from the view. NULL: all is shown. */
	bool (*shows)(const char *path, void *cookie);
	void (*forget)(void *cookie); /* when the stack is closed; NULL: nothing to do */
	void *cookie;
};

/* Opens the layers of HEAD ("" for none) and, with UPPER_FD >= 0, a top above them (the descriptor is taken over). */
int view_open(const struct store *store, const char *head, int upper_fd,
	      struct view_stack *ret_stack, struct error *err);
void view_close(struct view_stack *stack);

enum view_kind { VIEW_ABSENT, VIEW_LAYER, VIEW_BASE };

/*
 * Has PATHs in DIR, of the host, looked up from there, where no layer has a unit that it lies in: without one the base is looked
 * up from the root directory and ends at the next mount.
 */
void view_cover(struct view_stack *stack, const char *dir);

/* Where an object of the view really lies. */
struct view_object {
	enum view_kind kind;
	size_t layer; /* with VIEW_LAYER: index in the stack */
	int dir_fd;   /* its directory there (owned), and its name in it; "." for a unit's root */
	char name[256];
	struct stat st;
	bool is_opaque; /* a directory that hides what lies below it */
};

void view_object_done(struct view_object *object);

/* Looks the absolute PATH up in the view. Absent is no error. FROM: first layer to look at (0: all; count: the base only). */
int view_lookup(const struct view_stack *stack, size_t from, const char *path,
		struct view_object *ret_object, struct error *err);

/* A regular file of the view for reading, or -1 with errno; never waits, never follows. */
int view_open_file(const struct view_object *object);

#endif
