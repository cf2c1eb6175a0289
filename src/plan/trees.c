/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to each mount of the host: copied on write, shown read-only, or hidden.
 *
 * Masks come first: a mount below a hidden directory is shown only if something in it is kept. What the kernel
 * provides (proc, sys, dev) is made afresh in the sandbox and does not stand here at all.
 */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "plan/parts.h"
#include "spec/mask.h"

#include <stdlib.h>
#include <string.h>

static void add_tree(struct spec *spec, enum spec_tree_kind kind, const struct host_mount *mount,
		     const char *why)
{
	struct spec_tree *tree = spec_add_tree(spec, kind, mount->point);

	tree->dev = mount->dev;
	tree->ino = mount->ino;
	if (why)
		tree->why = xstrdup(why);
}

static bool is_made_afresh(const struct host_mount *mount)
{
	return mount->class == MOUNT_KERNEL || path_is_within(mount->point, "/proc") ||
	       path_is_within(mount->point, "/sys") || path_is_within(mount->point, "/dev");
}

static void plan_mount(const struct planning *planning, const struct host_mount *mount,
		       bool holds_workspace)
{
	struct spec *spec = planning->spec;

	if (strcmp(mount->point, "/") == 0 || holds_workspace)
		return add_tree(spec, TREE_OVERLAY, mount, NULL);
	if (mount->class == MOUNT_REMOTE)
		return add_tree(spec, TREE_HIDDEN, mount,
				strncmp(mount->fstype, "fuse", 4) == 0 ? "fuse"
				: strcmp(mount->fstype, "autofs") == 0 ? "autofs"
								       : "network filesystem");
	if (!mask_shows(spec, mount->point) && !plan_keeps_within(spec, mount->point))
		return add_tree(spec, TREE_HIDDEN, mount, "masked");
	if (!mount->dev)
		return add_tree(spec, TREE_HIDDEN, mount, "not accessible");
	if (mount->is_regular)
		return add_tree(spec, TREE_READONLY, mount, "file");
	/* A socket or device mounted by itself is a door to the host. */
	if (!mount->is_directory)
		return add_tree(spec, TREE_HIDDEN, mount, "not a directory");
	add_tree(spec, mount->readonly ? TREE_READONLY : TREE_OVERLAY, mount, NULL);
}

static int compare_trees(const void *a, const void *b)
{
	const struct spec_tree *left = a, *right = b;

	return strcmp(left->path, right->path);
}

/* Tools to run with, the workspace to work in, and nothing else. */
static void plan_project(const struct planning *planning)
{
	static const char *const shown[] = { "/bin",	"/etc", "/lib",	 "/lib32", "/lib64",
					     "/libx32", "/opt", "/sbin", "/usr" };
	struct spec *spec = planning->spec;

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		if (!planning->paths->image && strcmp(shown[i], spec->workspace) != 0)
			(void)spec_add_tree(spec, TREE_READONLY, shown[i]);
	}
	if (!spec->workspace_made)
		(void)spec_add_tree(spec, TREE_OVERLAY, spec->workspace);
}

void plan_trees(const struct planning *planning)
{
	const struct host *host = planning->host;
	struct spec *spec = planning->spec;
	const char *root = planning->settings->root;
	const struct host_mount *at_workspace =
		spec->workspace_made ? NULL : plan_holder(host, spec->workspace);

	bool maps_ids = host->privileged && host->root_idmappable;
	const struct plan_image *image = planning->paths->image;
	bool is_project = image || (root && strcmp(root, "project") == 0);

	if (image) {
		spec->image = xstrdup(image->name);
		strv_copy(&spec->image_layers, &image->layers);
		strv_copy(&spec->image_env, &image->env);
	}
	spec->root = maps_ids ? ROOT_IDMAPPED : ROOT_FOREST;
	if (is_project) {
		spec->root = maps_ids ? ROOT_PROJECT_IDMAPPED : ROOT_PROJECT;
		plan_project(planning);
	}
	for (size_t i = 0; !is_project && i < host->mount_count; i++) {
		const struct host_mount *mount = &host->mounts[i];

		if (!is_made_afresh(mount) && host_mount_is_visible(host, mount))
			plan_mount(planning, mount, mount == at_workspace);
	}
	if (spec->tree_count > 1)
		qsort(spec->trees, spec->tree_count, sizeof(*spec->trees), compare_trees);
}
