/* SPDX-License-Identifier: Apache-2.0 */
/* Units: one overlay each over one directory of the host. */
#include "confine/root/root_kept.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/core/bench_skip.h"
#include "confine/mask/mask.h"
#include "confine/mask/mask_cache.h"
#include "confine/root/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* For masks alone: some hundred entries without content. */
#define MASKS_SIZE (16u << 20)
#define MASKS_INODES 100000

void unit_begin(struct root_builder *ret_builder, const struct spec *spec, struct root_parts *parts,
		int userns_fd)
{
	*ret_builder = (struct root_builder){
		.spec = spec,
		.parts = parts,
		.userns_fd = userns_fd,
		.source_fd = -1,
		.kept = { .top_fd = -1, .mapped_fd = -1, .layers_fd = -1, .units = STR_INIT },
		.beside_fd = -1,
	};
}

int unit_storage(struct root_builder *builder, struct error *err)
{
	const struct spec_limits *limits = &builder->spec->limits;

	return mount_tmpfs(limits->disk_bytes, limits->inodes, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			   &builder->parts->upper_fd, err);
}

void unit_done(struct root_builder *builder)
{
	fd_close(&builder->beside_fd);
}

int unit_add_part(struct root_builder *builder, int mount_fd, const char *target, struct error *err)
{
	struct root_parts *parts = builder->parts;

	if (parts->count == ROOT_PARTS_MAX) {
		close(mount_fd);
		return error_set(err, ERROR_DENIED, "more than %d mounts to clone", ROOT_PARTS_MAX);
	}
	parts->items[parts->count++] = (struct root_part){ mount_fd, xstrdup(target) };
	return 0;
}

static int make_directory(int dir_fd, char kind, size_t index, int *ret_fd, struct error *err)
{
	char name[24];

	(void)snprintf(name, sizeof(name), "%c%zu", kind, index);
	if (mkdirat(dir_fd, name, 0755) < 0)
		return error_errno(err, ERROR_HOST, "writable layer %s", name);
	*ret_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "writable layer %s", name) : 0;
}

int unit_clone_source(struct root_builder *builder, const char *source, int *ret_fd,
		      struct error *err)
{
	if (builder->source_fd >= 0)
		return mount_clone(builder->source_fd, "", ret_fd, err);
	return mount_clone(AT_FDCWD, source, ret_fd, err);
}

/* Where the kernel cannot idmap a filesystem, a project is shown as it is: ids that no one inside has, and files readable by others. */
static int map_lower(const struct root_builder *builder, int fd, struct error *err)
{
	if (mount_idmap(fd, builder->userns_fd, err) == 0)
		return 0;
	if (!root_is_project(builder->spec->root))
		return -1;
	return mount_attributes(fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
}

/* A detached clone for privileged builders (so that it can be idmapped), a plain descriptor for others. */
static int open_lower(struct root_builder *builder, const char *source, int *ret_fd,
		      struct error *err)
{
	owned(fd_close) int fd = -1;

	if (builder->userns_fd < 0) {
		*ret_fd = builder->source_fd >= 0
				  ? fcntl(builder->source_fd, F_DUPFD_CLOEXEC, 3)
				  : open(source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "%s", source) : 0;
	}
	if (unit_clone_source(builder, source, &fd, err) < 0 || map_lower(builder, fd, err) < 0)
		return error_context(err, "%s", source);
	*ret_fd = fd_take(&fd);
	return 0;
}

/*
 * Kernels before 6.13 take layers by path only, and only from mounts of the caller's namespace. The supervisor then
 * moves to a private mount namespace of its own; init has one already.
 */
static int go_attached(struct root_builder *builder, struct error *err)
{
	if (builder->is_attached)
		return 0;
	if (builder->userns_fd >= 0 &&
	    (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
		return error_errno(err, ERROR_HOST, "cannot make a private mount namespace");
	if (mount_park(builder->parts->upper_fd, err) < 0)
		return -1;
	if (builder->userns_fd >= 0 &&
	    ((builder->kept.mapped_fd >= 0 && mount_park(builder->kept.mapped_fd, err) < 0) ||
	     (builder->kept.layers_fd >= 0 && mount_park(builder->kept.layers_fd, err) < 0)))
		return -1;
	builder->is_attached = true;
	return 0;
}

int unit_clone_stored(struct root_builder *builder, const char *name, int *ret_fd,
		      struct error *err)
{
	if (mount_clone(builder->parts->upper_fd, name, ret_fd, err) == 0)
		return 0;
	/* Before 6.15 only what is attached can be cloned. */
	if (go_attached(builder, err) < 0)
		return -1;
	return mount_clone(builder->parts->upper_fd, name, ret_fd, err);
}

/* Only a root that waits for a command is ever reconfigured. */
static int mount_unit(struct root_builder *builder, const struct overlay_layers *layers,
		      int *ret_fd, struct error *err)
{
	const char *workspace = builder->spec->workspace;
	struct root_overlay overlay = { .context_fd = -1,
					.is_read_only = layers->upper < 0,
					.has_workspace =
						path_is_within(workspace, layers->source) ||
						path_is_within(layers->source, workspace) };

	if (!builder->parts->keeps_overlays)
		return mount_overlay(layers, ret_fd, NULL, err);
	if (mount_overlay(layers, ret_fd, &overlay.context_fd, err) < 0)
		return -1;
	root_overlays_add(&builder->parts->overlays, &overlay);
	return 0;
}

static int overlay_by_path(struct root_builder *builder, const struct overlay_layers *layers,
			   int *ret_fd, struct error *err)
{
	int lower = layers->lowers[layers->lower_count - 1];
	struct error ignored;

	if (go_attached(builder, err) < 0)
		return -1;
	if (builder->userns_fd >= 0 && mount_park(lower, err) < 0)
		return -1;
	/* A mask made for this run alone lies in the storage, which is attached already; a kept one is a mount. */
	if (builder->userns_fd >= 0 && layers->lower_count > 1)
		(void)mount_park(layers->lowers[layers->lower_count - 2], &ignored);
	return mount_unit(builder, layers, ret_fd, err);
}

static int mount_layers(struct root_builder *builder, const struct overlay_layers *layers,
			int *ret_fd, struct error *err)
{
	if (!builder->is_attached) {
		if (mount_unit(builder, layers, ret_fd, err) == 0)
			return 0;
		/* The other way needs no fewer descriptors. */
		if (err->errnum == EMFILE)
			return -1;
	}
	return overlay_by_path(builder, layers, ret_fd, err);
}

static bool has_masks_below(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (path_is_within(spec->masks[i].path, path) &&
		    strcmp(spec->masks[i].path, path) != 0)
			return true;
	}
	for (size_t i = 0; i < spec->bind_count; i++) {
		if (path_is_within(spec->binds[i].target, path))
			return true;
	}
	return false;
}

/* Whether the storage lies inside SOURCE; its path may have been given with links. */
static bool is_stored_inside(const struct root_builder *builder, const char *source)
{
	char link[32], path[PATH_MAX];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", builder->parts->upper_fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);

	path[len > 0 ? len : 0] = '\0';
	return path_is_within(path, source);
}

/*
 * A directory for a layer that lies above SOURCE and is not written to. The kernel refuses one that lies inside SOURCE, as
 * it does in a storage on disk when the home is shown whole; a tmpfs of its own holds masks of any kernel.
 */
static int make_mask(struct root_builder *builder, const char *source, int *ret_fd,
		     struct error *err)
{
	size_t index = builder->parts->unit_paths.count;
	int dir_fd = builder->parts->upper_fd;

	if (builder->is_on_disk && is_stored_inside(builder, source)) {
		if (builder->beside_fd < 0 &&
		    (mount_tmpfs(MASKS_SIZE, MASKS_INODES, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				 &builder->beside_fd, err) < 0 ||
		     mount_park(builder->beside_fd, err) < 0))
			return -1;
		dir_fd = builder->beside_fd;
	}
	return make_directory(dir_fd, 'm', index, ret_fd, err);
}

/* Takes *FD over until the sandbox is gone: the lock on it marks the layer as in use. */
static bool hold(struct root_held *held, int *fd)
{
	if (held->count == sizeof(held->fds) / sizeof(held->fds[0]))
		return false;
	held->fds[held->count++] = fd_take(fd);
	return true;
}

/* A layer made earlier, as a mount of its own; or one for this run alone. */
static int add_mask(struct root_builder *builder, struct mask_layer *mask,
		    struct overlay_layers *layers, struct error *err)
{
	owned(fd_close) int kept_fd = mask->ids ? mask_cache_open(builder->spec, mask) : -1;
	int *slot = &layers->lowers[layers->lower_count];

	if (kept_fd >= 0 && mount_clone(kept_fd, "", slot, err) == 0) {
		if (mount_idmap(*slot, builder->userns_fd, err) == 0 &&
		    hold(&builder->parts->held, &kept_fd)) {
			layers->lower_count++;
			return 0;
		}
		fd_close(slot); /* tmpfs before 6.3 */
	}
	if (make_mask(builder, mask->path, slot, err) < 0)
		return -1;
	mask->dir_fd = *slot;
	layers->lower_count++;
	if (mask_copy_metadata(mask, mask->path, ".", err) < 0)
		return -1;
	return mask_build(builder->spec, mask, err);
}

/* A top and scratch space for this run alone. */
static int add_top(struct root_builder *builder, const char *source, struct overlay_layers *layers,
		   struct error *err)
{
	const struct spec_ids *ids = builder->userns_fd >= 0 ? &builder->spec->ids : NULL;
	size_t index = builder->parts->unit_paths.count;
	int storage = builder->parts->upper_fd;

	if (make_directory(storage, 'u', index, &layers->upper, err) < 0 ||
	    make_directory(storage, 'w', index, &layers->work, err) < 0)
		return -1;
	/* The merged root shows the upper's own attributes. */
	struct mask_layer top = { layers->upper, source, ids == NULL, ids };

	return mask_copy_metadata(&top, source, ".", err);
}

/* Moves the lower layers behind the first KEEP where they are detached mounts to those that are closed later. */
static void hold_lowers(struct root_builder *builder, struct overlay_layers *layers, size_t keep)
{
	struct root_held *held = &builder->parts->held;

	while (builder->userns_fd >= 0 && layers->lower_count > keep &&
	       held->count < sizeof(held->fds) / sizeof(held->fds[0]))
		held->fds[held->count++] = layers->lowers[--layers->lower_count];
}

/* Where nothing is masked an empty layer: the kernel wants two where none is writable. */
static int add_empty(struct root_builder *builder, struct mask_layer *mask,
		     struct overlay_layers *layers, struct error *err)
{
	int *slot = &layers->lowers[layers->lower_count];

	if (make_mask(builder, mask->path, slot, err) < 0)
		return -1;
	layers->lower_count++;
	mask->dir_fd = *slot;
	return mask_copy_metadata(mask, mask->path, ".", err);
}

static int view_layers(struct root_builder *builder, const char *source, bool masked,
		       struct overlay_layers *layers, struct error *err)
{
	const struct spec_ids *ids = builder->userns_fd >= 0 ? &builder->spec->ids : NULL;
	struct mask_layer mask = { -1, source, ids == NULL, ids };
	int lower = -1, status;

	layers->user_xattr = ids == NULL;
	if (open_lower(builder, source, &lower, err) < 0)
		return -1;
	status = masked && has_masks_below(builder->spec, source)
			 ? add_mask(builder, &mask, layers, err)
			 : add_empty(builder, &mask, layers, err);
	layers->lowers[layers->lower_count++] = lower;
	/* The number of the layer is taken; what is read-only has no changes to count. */
	strv_add(&builder->parts->unit_paths, "");
	return status;
}

/*
 * What lies below the sealed layers of a kept unit when they lie inside its source: the kernel refuses the two side by
 * side, but not above a view of the source.
 */
static int add_base(struct root_builder *builder, const char *source, bool masked,
		    struct overlay_layers *layers, struct error *err)
{
	owned(overlay_layers_close) struct overlay_layers base = {
		.source = source, .upper = -1, .work = -1, .is_base = true
	};
	int fd = -1;

	if (view_layers(builder, source, masked, &base, err) < 0 ||
	    mount_layers(builder, &base, &fd, err) < 0)
		return -1;
	hold_lowers(builder, &base, 0);
	layers->lowers[layers->lower_count++] = fd;
	return 0;
}

static int add_lowers(struct root_builder *builder, const char *source, bool masked, int *lower,
		      struct overlay_layers *layers, struct error *err)
{
	const struct spec_ids *ids = builder->userns_fd >= 0 ? &builder->spec->ids : NULL;
	struct mask_layer mask = { -1, source, ids == NULL, ids };

	masked = masked && !bench_skip("masks") && has_masks_below(builder->spec, source);
	if (layers->lower_count > 0 && kept_is_inside(builder->spec, source))
		return add_base(builder, source, masked, layers, err);
	if ((*lower < 0 && open_lower(builder, source, lower, err) < 0) ||
	    (masked && add_mask(builder, &mask, layers, err) < 0))
		return -1;
	layers->lowers[layers->lower_count++] = fd_take(lower);
	return 0;
}

/*
 * In a user namespace the kernel refuses an overlay over a tree with mounts of the host's in it (EINVAL). The workspace is
 * not taken apart as system directories are: its files could not be renamed between the parts, and new ones not appear.
 */
static int refuse_overlay(const struct root_builder *builder, const char *source, struct error *err)
{
	const struct spec *spec = builder->spec;
	char shown[STR_SHOWN_SIZE], shown_mount[STR_SHOWN_SIZE];
	const char *mount = "something else";
	int errnum = err->errnum;

	if (builder->userns_fd >= 0 || errnum != EINVAL)
		return error_context(err, "copy-on-write view of %s", source);
	for (size_t i = spec->tree_count; i-- > 0;)
		if (path_is_within(spec->trees[i].path, source) &&
		    strcmp(spec->trees[i].path, source) != 0)
			mount = spec->trees[i].path;
	error_advise(
		err, ERROR_DENIED, "-C DIR",
		"%s cannot be shown copy-on-write to a plain user's sandbox: %s is mounted "
		"below it (findmnt -R lists all there is); unmount that, run aisbx as root, or "
		"choose a workspace without it",
		str_shown(source, shown), str_shown(mount, shown_mount));
	err->errnum = errnum;
	return -1;
}

int unit_add_overlay(struct root_builder *builder, const char *source, const char *target,
		     bool masked, struct error *err)
{
	owned(overlay_layers_close) struct overlay_layers layers = {
		.source = source, .upper = -1, .work = -1, .user_xattr = builder->userns_fd < 0
	};
	const struct kept_unit unit = { source, target };
	owned(fd_close) int lower = -1;
	int overlay_fd = -1;

	/* First what may well be refused: it must leave no layers behind that the next unit would stumble on. */
	if (builder->userns_fd < 0 && open_lower(builder, source, &lower, err) < 0)
		return -1;
	if ((builder->kept.top_fd >= 0 ? kept_add(builder, &unit, &layers, err)
				       : add_top(builder, source, &layers, err)) < 0)
		return -1;
	size_t sealed = layers.lower_count;

	if (add_lowers(builder, source, masked, &lower, &layers, err) < 0)
		return -1;
	strv_add(&builder->parts->unit_paths, strcmp(source, target) == 0 ? source : "");
	if (mount_layers(builder, &layers, &overlay_fd, err) < 0) {
		(void)kept_settle(builder, &unit, false, err);
		return refuse_overlay(builder, source, err);
	}
	hold_lowers(builder, &layers, sealed);
	if (kept_settle(builder, &unit, true, err) < 0) {
		close(overlay_fd);
		return -1;
	}
	return unit_add_part(builder, overlay_fd, target, err);
}

/* Of an image, topmost first. */
static int add_image(struct root_builder *builder, struct overlay_layers *layers, struct error *err)
{
	const struct strv *image = &builder->spec->image_layers;

	for (size_t i = 0; i < image->count; i++) {
		if (open_lower(builder, image->items[i], &layers->lowers[layers->lower_count],
			       err) < 0)
			return -1;
		layers->lower_count++;
	}
	return 0;
}

int unit_mount_over(struct root_builder *builder, const char *name, int *ret_fd, struct error *err)
{
	const struct strv *image = &builder->spec->image_layers;
	/* What is changed of an image is no change of a path of the host's: it is kept under another name. */
	const char *source = image->count ? image->items[0] : "/";
	owned(overlay_layers_close) struct overlay_layers layers = {
		.source = name, .upper = -1, .work = -1, .user_xattr = builder->userns_fd < 0
	};
	const struct kept_unit unit = { source, "/" };
	int fd = openat(builder->parts->upper_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	if ((builder->kept.top_fd >= 0 ? kept_add(builder, &unit, &layers, err)
				       : add_top(builder, source, &layers, err)) < 0) {
		close(fd);
		return -1;
	}
	size_t sealed = layers.lower_count;

	layers.lowers[layers.lower_count++] = fd;
	if (add_image(builder, &layers, err) < 0)
		return -1;
	if (image->count)
		strv_add(&builder->parts->unit_paths, "");
	if (mount_layers(builder, &layers, ret_fd, err) < 0)
		return -1;
	hold_lowers(builder, &layers, sealed + 1);
	if (kept_settle(builder, &unit, true, err) == 0)
		return 0;
	fd_close(ret_fd);
	return -1;
}

int unit_add_view(struct root_builder *builder, const char *source, const char *target,
		  struct error *err)
{
	owned(overlay_layers_close) struct overlay_layers layers = { .source = source,
								     .upper = -1,
								     .work = -1 };
	bool masked = has_masks_below(builder->spec, source);
	int view_fd = -1;

	if (view_layers(builder, source, masked, &layers, err) < 0 ||
	    mount_layers(builder, &layers, &view_fd, err) < 0) {
		/* What cannot be masked is not shown: a filesystem that can be no layer, with secrets in it. */
		if (masked)
			return error_context(err, "read-only view of %s", source);
		return unit_add_bind(builder, source, target, MOUNT_ATTR_RDONLY, err);
	}
	if (mount_attributes(view_fd, MOUNT_ATTR_RDONLY, err) < 0) {
		close(view_fd);
		return -1;
	}
	return unit_add_part(builder, view_fd, target, err);
}
