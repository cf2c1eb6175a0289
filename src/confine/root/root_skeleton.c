/* SPDX-License-Identifier: Apache-2.0 */
/* The skeleton of a root: directories that other parts are mounted on, and files of our own. */
#include "confine/root/root_skeleton.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "confine/mask/mask.h"
#include "confine/root/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Made by init it is the inside user's already; the supervisor's ids have no name inside. */
static int give(const struct forest *forest, const char *path, struct error *err)
{
	const struct spec_ids *ids = &forest->builder.spec->ids;

	if (forest->builder.userns_fd >= 0 &&
	    fchownat(forest->skeleton_fd, path[1] ? path + 1 : ".", ids->host_uid + ids->uid,
		     ids->host_gid + ids->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, ERROR_HOST, "skeleton: owner of %s", path);
	return 0;
}

/* Owner bits: the owner here is the user inside, and must be able to enter. */
static int make_directory(struct forest *forest, const char *path, mode_t mode, struct error *err)
{
	if (mkdirat(forest->skeleton_fd, path + 1, mode | 0700) == 0)
		return give(forest, path, err);
	return errno == EEXIST ? 0 : error_errno(err, ERROR_HOST, "skeleton of %s", path);
}

int skeleton_add_directory(struct forest *forest, const char *path, const struct stat *st,
			   struct error *err)
{
	return make_directory(forest, path, st->st_mode & 07777, err);
}

/* Makes PATH and its parents in the skeleton, with the host's modes. */
int skeleton_make_path(struct forest *forest, const char *path, struct error *err)
{
	char part[PATH_MAX];
	struct stat st;

	for (const char *end = path + 1; end[-1]; end++) {
		if (*end != '/' && *end != '\0')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		mode_t mode =
			lstat(part, &st) == 0 && S_ISDIR(st.st_mode) ? st.st_mode & 07777 : 0755;

		if (make_directory(forest, part, mode, err) < 0)
			return -1;
	}
	return 0;
}

int skeleton_copy_link(struct forest *forest, const char *path, struct error *err)
{
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target) - 1);

	if (len < 0)
		return 0;
	target[len] = '\0';
	if (symlinkat(target, forest->skeleton_fd, path + 1) < 0)
		return errno == EEXIST ? 0 : error_errno(err, ERROR_HOST, "skeleton of %s", path);
	return give(forest, path, err);
}

/* A file of the skeleton that holds TEXT, with the directories above it. */
static int make_file(struct forest *forest, const char *path, const char *text, struct error *err)
{
	ssize_t len = (ssize_t)strlen(text);
	char parent[PATH_MAX];

	(void)snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (parent[0] && skeleton_make_path(forest, parent, err) < 0)
		return -1;
	owned(fd_close) int fd = openat(forest->skeleton_fd, path + 1,
					O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return error_errno(err, ERROR_HOST, "skeleton of %s", path);
	return give(forest, path, err);
}

/* Something in the skeleton for a bind to be mounted on. */
int skeleton_add_point(struct forest *forest, const char *path, bool is_directory,
		       struct error *err)
{
	return is_directory ? skeleton_make_path(forest, path, err)
			    : make_file(forest, path, "", err);
}

/* Empty directories and files of our own that the masks want below a hidden directory. */
int skeleton_add_masked(struct forest *forest, const char *below, struct error *err)
{
	const struct spec *spec = forest->builder.spec;

	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (!path_is_within(mask->path, below) || strcmp(mask->path, below) == 0)
			continue;
		if (mask->kind == MASK_EMPTY && access(mask->path, F_OK) == 0 &&
		    skeleton_make_path(forest, mask->path, err) < 0)
			return -1;
		/* What is shown has a layer of its own, and the file in it. */
		if (mask->kind == MASK_FILE && !mask_parent_shows(spec, mask->path) &&
		    make_file(forest, mask->path, mask->content ? mask->content : "", err) < 0)
			return -1;
	}
	return 0;
}

/* In project mode the workspace is shown wherever it lies. */
int skeleton_add_workspace(struct forest *forest, struct error *err)
{
	const char *workspace = forest->builder.spec->workspace;

	if (forest->builder.spec->workspace_made ||
	    strv_has(&forest->builder.parts->unit_paths, workspace))
		return 0;
	if (skeleton_make_path(forest, workspace, err) < 0)
		return -1;
	if (unit_add_overlay(&forest->builder, workspace, workspace, true, err) == 0)
		return 0;
	/* Its ids are none of the host's, and here files are shown as they are. */
	if (err->errnum == EACCES && forest->builder.spec->ids.count > 1)
		return error_advise(
			err, ERROR_DENIED, "leave --root project out, or run as the owner",
			"%s: it lies below a directory that only its owner may enter, and with "
			"--root project a root caller's sandbox sees what everybody may see",
			workspace);
	return -1;
}

/* The skeleton is the root's first part; where things are kept it has a top of its own, when it is complete. */
int skeleton_open(struct forest *forest, struct error *err)
{
	struct root_parts *parts = forest->builder.parts;
	owned(fd_close) int fd = -1;

	if (mkdirat(parts->upper_fd, "skeleton", 0755) < 0)
		return error_errno(err, ERROR_HOST, "skeleton");
	if (unit_clone_stored(&forest->builder, "skeleton", &fd, err) < 0 ||
	    mount_attributes(fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err) < 0)
		return -1;
	forest->skeleton_fd = fd;
	return unit_add_part(&forest->builder, fd_take(&fd), "/", err) < 0 ? -1
									   : give(forest, "/", err);
}

/* What is written to a bare HOME stays as everything else does. */
int skeleton_keep(struct forest *forest, struct error *err)
{
	struct root_builder *builder = &forest->builder;
	struct root_part *first = &builder->parts->items[0];
	int overlay_fd = -1;

	if (builder->kept.top_fd < 0 && !builder->spec->image)
		return 0;
	if (unit_mount_over(builder, "skeleton", &overlay_fd, err) < 0)
		return error_context(err, "skeleton");
	close(first->mount_fd);
	first->mount_fd = overlay_fd;
	return 0;
}
