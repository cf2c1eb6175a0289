/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of a plain user's clone: a skeleton of directories with one overlay per directory of the host.
 *
 * Inside a user namespace the kernel refuses an overlay over a directory that has mounts of the host below it. So each
 * top-level directory is tried as one overlay; where that is refused its entries are tried one by one. In project
 * mode (no overlay over system directories wanted or possible) they are read-only views instead. That mode the
 * supervisor of a root caller assembles, too, of idmapped clones: then all of the skeleton is given to the user inside.
 */
#include "confine/root/root_kept.h"
#include "confine/root/root_skeleton.h"

#include "base/text/clean_path.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
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

#define SPLIT_DEPTH_MAX 6

/* Made anew by fresh.c: only the mount point is needed. */
static const char *const fresh[] = { "/proc", "/sys", "/dev", "/run", NULL };
static const char *const system_directories[] = { "/usr",   "/bin",   "/sbin",	 "/lib",
						  "/lib32", "/lib64", "/libx32", "/etc",
						  "/opt",   "/nix",   "/gnu",	 NULL };

static bool is_one_of(const char *const *names, const char *path)
{
	while (*names && strcmp(path, *names) != 0)
		names++;
	return *names;
}

/* Whether MASK keeps something strictly below BELOW whose parent is hidden; fills *ret_st and RET_PARENT. */
static bool is_kept_below(const struct spec *spec, const struct spec_mask *mask, const char *below,
			  struct stat *ret_st, char *ret_parent)
{
	if (!mask_kind_shows(mask->kind) || !path_is_within(mask->path, below) ||
	    strcmp(mask->path, below) == 0 || lstat(mask->path, ret_st) < 0)
		return false;
	(void)snprintf(ret_parent, PATH_MAX, "%.*s", (int)(strrchr(mask->path, '/') - mask->path),
		       mask->path);
	return !mask_shows(spec, ret_parent[0] ? ret_parent : "/");
}

static int visit_entries(struct forest *forest, const char *path, unsigned depth,
			 struct error *err);

/* Kept directories below a hidden one: each is an overlay of its own, or a list in the skeleton. */
static int add_kept(struct forest *forest, const char *below, bool in_skeleton, struct error *err)
{
	const struct spec *spec = forest->builder.spec;
	char parent[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < spec->mask_count; i++) {
		const char *path = spec->masks[i].path;

		if (!is_kept_below(spec, &spec->masks[i], below, &st, parent))
			continue;
		if (in_skeleton && S_ISLNK(st.st_mode) &&
		    (skeleton_make_path(forest, parent, err) < 0 ||
		     skeleton_copy_link(forest, path, err) < 0))
			return -1;
		if (!S_ISDIR(st.st_mode))
			continue;
		if (in_skeleton && skeleton_make_path(forest, path, err) < 0)
			return -1;
		if (spec->masks[i].kind == MASK_LIST) {
			/* In a mask layer it is a list already, and add_listed() has shown its directories. */
			if (in_skeleton && visit_entries(forest, path, 0, err) < 0)
				return -1;
			continue;
		}
		if (unit_add_overlay(&forest->builder, path, path, true, err) < 0)
			return -1;
	}
	return 0;
}

/* Binds below a top-level directory that the host has not. */
static int add_new_mount_points(struct forest *forest, struct error *err)
{
	const struct spec *spec = forest->builder.spec;
	struct stat st;

	for (size_t i = 0; i < spec->bind_count; i++) {
		const char *target = spec->binds[i].target;
		char top[PATH_MAX];

		(void)snprintf(top, sizeof(top), "/%.*s", (int)strcspn(target + 1, "/"),
			       target + 1);
		if (lstat(top, &st) == 0 || stat(spec->binds[i].source, &st) < 0)
			continue;
		if (skeleton_add_point(forest, target, S_ISDIR(st.st_mode), err) < 0)
			return -1;
	}
	return 0;
}

/* What stands below a hidden directory all the same: pieces of the masks, and places to mount on. */
static int add_furniture(struct forest *forest, const char *below, struct error *err)
{
	const struct spec *spec = forest->builder.spec;

	if (skeleton_add_masked(forest, below, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->bind_count; i++) {
		struct stat st;
		const char *target = spec->binds[i].target;

		if (!path_is_within(target, below) || stat(spec->binds[i].source, &st) < 0)
			continue;
		if (skeleton_add_point(forest, target, S_ISDIR(st.st_mode), err) < 0)
			return -1;
	}
	return 0;
}

static bool is_listed(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (spec->masks[i].kind == MASK_LIST && strcmp(spec->masks[i].path, path) == 0)
			return true;
	}
	return false;
}

static bool is_entry_of_list(const struct spec *spec, const char *path)
{
	owned(free_ptr) char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	return is_listed(spec, parent);
}

/* The directory PATH of a list in the unit BELOW. Only the workspace is essential: another one is seen empty. */
static int add_listed_entry(struct forest *forest, const char *below, const char *path,
			    struct error *err)
{
	const struct spec *spec = forest->builder.spec;

	/* One that is shut to the caller could not be read as a layer, either. */
	if (!mask_shows(spec, path) || is_listed(spec, path) || access(path, R_OK | X_OK) < 0 ||
	    kept_has(&forest->builder, below, path) ||
	    unit_add_overlay(&forest->builder, path, path, true, err) == 0)
		return 0;
	return path_is_within(spec->workspace, path) ? -1 : 0;
}

/* Without redirects a mask layer has only places for the directories of one that is shown as a list. */
static int add_listed(struct forest *forest, const char *below, struct error *err)
{
	const struct spec *spec = forest->builder.spec;
	char path[PATH_MAX + NAME_MAX + 2];
	struct dirent *entry;
	int status = 0;

	for (size_t i = 0; forest->builder.userns_fd < 0 && i < spec->mask_count; i++) {
		const char *listed = spec->masks[i].path;

		if (spec->masks[i].kind != MASK_LIST || !path_is_within(listed, below))
			continue;
		owned(dir_close) DIR *dir = opendir(listed);

		while (status == 0 && dir_next(dir, &entry) > 0) {
			(void)snprintf(path, sizeof(path), "%s/%s", listed, entry->d_name);
			if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)
				status = add_listed_entry(forest, below, path, err);
		}
	}
	return status;
}

static int visit(struct forest *forest, const char *path, unsigned depth, struct error *err);

static int visit_entries(struct forest *forest, const char *path, unsigned depth, struct error *err)
{
	owned(dir_close) DIR *dir = opendir(path);
	char child[PATH_MAX];
	struct dirent *entry;
	int status = 0;

	/* Unreadable to the caller: an empty directory inside. */
	while (status == 0 && dir_next(dir, &entry) > 0) {
		int len =
			snprintf(child, sizeof(child), "%s/%s", path[1] ? path : "", entry->d_name);

		if (len > 0 && (size_t)len < sizeof(child))
			status = visit(forest, child, depth + 1, err);
	}
	return status;
}

static int add_hidden(struct forest *forest, const char *path, const struct stat *st,
		      struct error *err)
{
	if (skeleton_add_directory(forest, path, st, err) < 0 ||
	    add_furniture(forest, path, err) < 0)
		return -1;
	return add_kept(forest, path, true, err);
}

/* A file of a list, which commands may change: a copy, unless it is large. 1, or 0 when it is none. */
static int copy_listed(struct forest *forest, const char *path, const struct stat *st)
{
	struct mask_layer layer = { .dir_fd = forest->skeleton_fd, .path = "/" };
	owned(fd_close) int from = -1, to = -1;
	owned(str_done) struct str content = STR_INIT;
	struct error ignored;

	if (!is_entry_of_list(forest->builder.spec, path) ||
	    st->st_size > (off_t)MASK_LIST_FILE_MAX)
		return 0;
	from = file_open(AT_FDCWD, path, O_NOFOLLOW, NULL);
	if (from < 0 || fd_read_all(from, MASK_LIST_FILE_MAX, &content) < 0)
		return 0;
	to = openat(forest->skeleton_fd, path + 1,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);
	if (to < 0 || fd_write_all(to, content.data, content.len) < 0)
		return 0;
	(void)mask_copy_metadata(&layer, path, path + 1, &ignored);
	return 1;
}

/* A file with a mount of its own, or beside one: a read-only bind shows it. */
static int add_file(struct forest *forest, const char *path, const struct stat *st,
		    struct error *err)
{
	struct error ignored;

	if (!S_ISREG(st->st_mode) || access(path, R_OK) < 0 || copy_listed(forest, path, st))
		return 0;
	owned(fd_close) int fd = openat(forest->skeleton_fd, path + 1,
					O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "skeleton of %s", path);
	/* Not essential: a file that cannot be bound is seen empty. */
	(void)unit_add_bind(&forest->builder, path, path, MOUNT_ATTR_RDONLY, &ignored);
	return 0;
}

static int add_directory(struct forest *forest, const char *path, const struct stat *st,
			 unsigned depth, struct error *err)
{
	const struct spec *spec = forest->builder.spec;
	/* A list of HOME shows more than project mode does by itself. */
	bool is_project = root_is_project(spec->root) && !path_is_within(path, spec->home);

	if (skeleton_add_directory(forest, path, st, err) < 0)
		return -1;
	if (is_one_of(fresh, path))
		return mask_keeps_below(spec, path) ? add_kept(forest, path, true, err) : 0;
	if (is_project && !is_one_of(system_directories, path))
		return add_kept(forest, path, true, err);
	if (is_listed(spec, path))
		return visit_entries(forest, path, depth, err);
	if (is_project) {
		return unit_add_view(&forest->builder, path, path, err) < 0
			       ? -1
			       : add_listed(forest, path, err);
	}
	if (unit_add_overlay(&forest->builder, path, path, true, err) == 0) {
		return add_listed(forest, path, err) < 0 ? -1 : add_kept(forest, path, false, err);
	}
	if (err->errnum == EACCES || err->errnum == EPERM)
		return 0; /* not ours to see: stays empty */
	if (depth >= SPLIT_DEPTH_MAX)
		return -1;
	return visit_entries(forest, path, depth, err);
}

static int visit(struct forest *forest, const char *path, unsigned depth, struct error *err)
{
	const struct spec *spec = forest->builder.spec;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	/* What a command has made in a list stays what it is, whatever the host has made there since. */
	if (!is_listed(spec, path) && is_entry_of_list(spec, path) &&
	    (kept_has_entry(&forest->builder, path, S_ISDIR(st.st_mode)) ||
	     (S_ISDIR(st.st_mode) && access(path, R_OK | X_OK) < 0)))
		return 0;
	if (!mask_shows(spec, path))
		return S_ISDIR(st.st_mode) ? add_hidden(forest, path, &st, err) : 0;
	if (S_ISLNK(st.st_mode))
		return skeleton_copy_link(forest, path, err);
	if (!S_ISDIR(st.st_mode))
		return add_file(forest, path, &st, err);
	return add_directory(forest, path, &st, depth, err);
}

/* Changes in a directory of a list stay where they are when the host renames or removes it. */
static int add_gone(struct forest *forest, struct error *err)
{
	const struct spec *spec = forest->builder.spec;
	owned(strv_done) struct strv paths = STRV_INIT;

	if (is_listed(spec, spec->home))
		kept_find_gone(&forest->builder, spec->home, &paths);
	for (size_t i = 0; i < paths.count; i++) {
		if (skeleton_make_path(forest, paths.items[i], err) < 0 ||
		    kept_add_gone(&forest->builder, paths.items[i], err) < 0)
			return -1;
	}
	return 0;
}

static int build(struct forest *forest, struct error *err)
{
	const struct spec *spec = forest->builder.spec;

	if (spec->image)
		return root_image_build(forest, err);
	if (skeleton_open(forest, err) < 0 || visit_entries(forest, "/", 0, err) < 0 ||
	    add_gone(forest, err) < 0)
		return -1;
	if (root_is_project(spec->root) && skeleton_add_workspace(forest, err) < 0)
		return -1;
	if (add_new_mount_points(forest, err) < 0 || unit_add_binds(&forest->builder, err) < 0)
		return -1;
	return skeleton_keep(forest, err);
}

int root_forest_build(const struct spec *spec, int userns_fd, struct root_parts *ret_parts,
		      struct error *err)
{
	struct forest forest = { .skeleton_fd = -1 };
	int status;

	unit_begin(&forest.builder, spec, ret_parts, userns_fd);
	forest.builder.is_on_disk = ret_parts->upper_fd >= 0;
	/* On the same tmpfs as the layers: what is written to a bare HOME counts against the same limit. */
	if (ret_parts->upper_fd < 0 &&
	    (unit_storage(&forest.builder, err) < 0 ||
	     (userns_fd < 0 && mount_park(ret_parts->upper_fd, err) < 0)))
		return -1;
	forest.builder.is_attached = userns_fd < 0;
	status = kept_open(&forest.builder, err) < 0 ? -1 : build(&forest, err);
	kept_close(&forest.builder);
	unit_done(&forest.builder);
	return status;
}
