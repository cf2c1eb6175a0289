/* SPDX-License-Identifier: Apache-2.0 */
/* The skeleton of a root: directories that other parts are mounted on, and files of our own. */
#ifndef CONFINE_ROOT_SKELETON_H
#define CONFINE_ROOT_SKELETON_H

#include "confine/root/root_kept.h"

#include <sys/stat.h>

struct forest {
	struct root_builder builder;
	int skeleton_fd;
};

/* The skeleton is the root's first part; where things are kept it has a top of its own, when it is complete. */
int skeleton_open(struct forest *forest, struct error *err);
/* Lays what is kept, or what an image has below it, over and under the complete skeleton. */
int skeleton_keep(struct forest *forest, struct error *err);

/* Makes PATH and its parents, with the host's modes. */
int skeleton_make_path(struct forest *forest, const char *path, struct error *err);
/* The host's directory PATH, which ST describes, in a parent that is there. */
int skeleton_add_directory(struct forest *forest, const char *path, const struct stat *st,
			   struct error *err);
/* The host's link PATH. */
int skeleton_copy_link(struct forest *forest, const char *path, struct error *err);
/* Something for a bind to be mounted on. */
int skeleton_add_point(struct forest *forest, const char *path, bool is_directory,
		       struct error *err);
/* Empty directories and files of our own that the masks want below a hidden directory. */
int skeleton_add_masked(struct forest *forest, const char *below, struct error *err);
/* The workspace, wherever it lies. */
int skeleton_add_workspace(struct forest *forest, struct error *err);

/* The root of an image: its layers, the skeleton over them, and the workspace. Nothing of the host's own root. */
int root_image_build(struct forest *forest, struct error *err);

#endif
