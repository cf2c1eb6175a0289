/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fresh views of a workspace: copy-on-write, each with a layer of its own, made outside a sandbox that runs already.
 *
 * The sandbox itself can mount nothing any more, and the supervisor of a plain user's sandbox must stay outside of any user
 * namespace to control it. So views are made by a process of their own: for root as it is, for a plain user in a user
 * namespace, where mounting is allowed.
 */
#ifndef DRIVER_WASM_VIEW_H
#define DRIVER_WASM_VIEW_H

#include "base/core/error.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <sys/types.h>

struct view_maker {
	pid_t pid;
	int fd;
};

struct view {
	int workspace_fd, cwd_fd; /* directories of it */
	int upper_fd;		  /* its layer is u0 in there */
	int mount_fd;		  /* the view as a whole: it goes when this does */
};

/* Whether a view of the workspace alone is what a sandbox of this spec would show. */
bool view_fits(const struct spec *spec);

/* Starts the maker for SPEC. It ends with its caller. */
int view_maker_start(const struct spec *spec, struct view_maker *ret_maker, struct error *err);
void view_maker_end(struct view_maker *maker);

int view_make(const struct view_maker *maker, struct view *ret_view, struct error *err);
void view_done(struct view *view);

#endif
