/* SPDX-License-Identifier: Apache-2.0 */
/* The root of a root caller's clone: overlays over idmapped clones of every real mount of the host. */
#include "confine/root/root_kept.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "confine/mask/mask.h"
#include "confine/root/mount.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The mount of the host that PATH lies on. */
static const struct spec_tree *tree_of(const struct spec *spec, const char *path)
{
	const struct spec_tree *found = NULL;

	for (size_t i = 0; i < spec->tree_count; i++) {
		const struct spec_tree *tree = &spec->trees[i];

		if (path_is_within(path, tree->path) &&
		    (!found || strlen(tree->path) > strlen(found->path)))
			found = tree;
	}
	return found;
}

/* A mount hidden as a whole (a separate /home) shows only what is kept in it, each part by itself. */
static int add_kept_parts(struct root_builder *builder, const struct spec_tree *tree,
			  struct error *err)
{
	const struct spec *spec = builder->spec;
	struct stat st;

	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (mask->kind != MASK_KEEP || tree_of(spec, mask->path) != tree ||
		    lstat(mask->path, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (unit_add_overlay(builder, mask->path, mask->path, true, err) < 0)
			return -1;
	}
	return 0;
}

/* A filesystem that is read-only itself, or a single file mounted over another. */
static int add_readonly(struct root_builder *builder, const char *path, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return unit_add_view(builder, path, path, err);
	return unit_add_bind(builder, path, path, MOUNT_ATTR_RDONLY, err);
}

static int add_tree(struct root_builder *builder, const struct spec_tree *tree, struct error *err)
{
	struct stat st;

	if (tree->kind == TREE_HIDDEN)
		return 0;
	if (tree->ino &&
	    (stat(tree->path, &st) < 0 || st.st_ino != tree->ino || st.st_dev != tree->dev))
		return error_advise(err, ERROR_DENIED, "run again",
				    "%s changed since the plan was made", tree->path);
	if (!mask_shows(builder->spec, tree->path))
		return add_kept_parts(builder, tree, err);
	if (tree->kind == TREE_READONLY)
		return add_readonly(builder, tree->path, err);
	if (unit_add_overlay(builder, tree->path, tree->path, true, err) == 0)
		return 0;
	/* Some filesystems cannot be shown with other ids (tmpfs before 6.3): those can only be read. */
	if (err->errnum != EINVAL || strcmp(tree->path, "/") == 0)
		return -1;
	return unit_add_bind(builder, tree->path, tree->path, MOUNT_ATTR_RDONLY, err);
}

static int build(const struct spec *spec, int userns_fd, struct root_parts *ret_parts,
		 struct error *err)
{
	struct root_builder builder;
	int status;

	unit_begin(&builder, spec, ret_parts, userns_fd);
	status = unit_storage(&builder, err) < 0 ? -1 : kept_open(&builder, err);
	for (size_t i = 0; status == 0 && i < spec->tree_count; i++)
		status = add_tree(&builder, &spec->trees[i], err);
	if (status == 0)
		status = unit_add_binds(&builder, err);
	kept_close(&builder);
	return status;
}

int root_idmapped_build(const struct spec *spec, int userns_fd, struct root_parts *ret_parts,
			struct error *err)
{
	/* The caller's is about files of his own; here every mode is meant as it is asked for. */
	mode_t before = umask(0);
	int status = root_is_project(spec->root)
			     ? root_forest_build(spec, userns_fd, ret_parts, err)
			     : build(spec, userns_fd, ret_parts, err);

	(void)umask(before);
	return status;
}
