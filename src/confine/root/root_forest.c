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

struct forest {
	struct root_builder builder;
	int skeleton_fd;
};

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

/* Makes PATH and its parents in the skeleton, with the host's modes. */
static int make_path(struct forest *forest, const char *path, struct error *err)
{
	char part[PATH_MAX];
	struct stat st;

	for (const char *end = path + 1; end[-1]; end++) {
		if (*end != '/' && *end != '\0')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		mode_t mode =
			lstat(part, &st) == 0 && S_ISDIR(st.st_mode) ? st.st_mode & 07777 : 0755;

		/* Owner bits: the owner here is the user inside, and must be able to enter. */
		if (mkdirat(forest->skeleton_fd, part + 1, mode | 0700) == 0) {
			if (give(forest, part, err) < 0)
				return -1;
		} else if (errno != EEXIST) {
			return error_errno(err, ERROR_HOST, "skeleton of %s", part);
		}
	}
	return 0;
}

static int copy_link(struct forest *forest, const char *path, struct error *err)
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
		    (make_path(forest, parent, err) < 0 || copy_link(forest, path, err) < 0))
			return -1;
		if (!S_ISDIR(st.st_mode))
			continue;
		if (in_skeleton && make_path(forest, path, err) < 0)
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

/* A file of the skeleton that holds TEXT, with the directories above it. */
static int make_file(struct forest *forest, const char *path, const char *text, struct error *err)
{
	ssize_t len = (ssize_t)strlen(text);
	char parent[PATH_MAX];

	(void)snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (parent[0] && make_path(forest, parent, err) < 0)
		return -1;
	owned(fd_close) int fd = openat(forest->skeleton_fd, path + 1,
					O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return error_errno(err, ERROR_HOST, "skeleton of %s", path);
	return give(forest, path, err);
}

/* Something in the skeleton for a bind to be mounted on. */
static int add_mount_point(struct forest *forest, const char *path, bool is_directory,
			   struct error *err)
{
	return is_directory ? make_path(forest, path, err) : make_file(forest, path, "", err);
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
		if (add_mount_point(forest, target, S_ISDIR(st.st_mode), err) < 0)
			return -1;
	}
	return 0;
}

/* Empty directories and files of our own that the masks want below a hidden directory. */
static int add_masked(struct forest *forest, const char *below, struct error *err)
{
	const struct spec *spec = forest->builder.spec;

	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (!path_is_within(mask->path, below) || strcmp(mask->path, below) == 0)
			continue;
		if (mask->kind == MASK_EMPTY && access(mask->path, F_OK) == 0 &&
		    make_path(forest, mask->path, err) < 0)
			return -1;
		/* What is shown has a layer of its own, and the file in it. */
		if (mask->kind == MASK_FILE && !mask_parent_shows(spec, mask->path) &&
		    make_file(forest, mask->path, mask->content ? mask->content : "", err) < 0)
			return -1;
	}
	return 0;
}

/* What stands below a hidden directory all the same: pieces of the masks, and places to mount on. */
static int add_furniture(struct forest *forest, const char *below, struct error *err)
{
	const struct spec *spec = forest->builder.spec;

	if (add_masked(forest, below, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->bind_count; i++) {
		struct stat st;
		const char *target = spec->binds[i].target;

		if (!path_is_within(target, below) || stat(spec->binds[i].source, &st) < 0)
			continue;
		if (add_mount_point(forest, target, S_ISDIR(st.st_mode), err) < 0)
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

static int add_hidden(struct forest *forest, const char *path, struct error *err)
{
	if (make_path(forest, path, err) < 0 || add_furniture(forest, path, err) < 0)
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

static int add_directory(struct forest *forest, const char *path, unsigned depth, struct error *err)
{
	const struct spec *spec = forest->builder.spec;
	/* A list of HOME shows more than project mode does by itself. */
	bool is_project = root_is_project(spec->root) && !path_is_within(path, spec->home);

	if (make_path(forest, path, err) < 0)
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
		return S_ISDIR(st.st_mode) ? add_hidden(forest, path, err) : 0;
	if (S_ISLNK(st.st_mode))
		return copy_link(forest, path, err);
	if (!S_ISDIR(st.st_mode))
		return add_file(forest, path, &st, err);
	return add_directory(forest, path, depth, err);
}

/* Changes in a directory of a list stay where they are when the host renames or removes it. */
static int add_gone(struct forest *forest, struct error *err)
{
	const struct spec *spec = forest->builder.spec;
	owned(strv_done) struct strv paths = STRV_INIT;

	if (is_listed(spec, spec->home))
		kept_find_gone(&forest->builder, spec->home, &paths);
	for (size_t i = 0; i < paths.count; i++) {
		if (make_path(forest, paths.items[i], err) < 0 ||
		    kept_add_gone(&forest->builder, paths.items[i], err) < 0)
			return -1;
	}
	return 0;
}

/* In project mode the workspace is shown wherever it lies. */
static int add_workspace(struct forest *forest, struct error *err)
{
	const char *workspace = forest->builder.spec->workspace;

	if (forest->builder.spec->workspace_made ||
	    strv_has(&forest->builder.parts->unit_paths, workspace))
		return 0;
	if (make_path(forest, workspace, err) < 0)
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
static int open_skeleton(struct forest *forest, struct error *err)
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
static int keep_skeleton(struct forest *forest, struct error *err)
{
	struct root_builder *builder = &forest->builder;
	struct root_part *first = &builder->parts->items[0];
	int overlay_fd = -1;

	if (builder->kept.top_fd < 0)
		return 0;
	if (unit_mount_over(builder, "skeleton", &overlay_fd, err) < 0)
		return error_context(err, "skeleton");
	close(first->mount_fd);
	first->mount_fd = overlay_fd;
	return 0;
}

static int build(struct forest *forest, struct error *err)
{
	const struct spec *spec = forest->builder.spec;

	if (open_skeleton(forest, err) < 0 || visit_entries(forest, "/", 0, err) < 0 ||
	    add_gone(forest, err) < 0)
		return -1;
	if (root_is_project(spec->root) && add_workspace(forest, err) < 0)
		return -1;
	if (add_new_mount_points(forest, err) < 0 || unit_add_binds(&forest->builder, err) < 0)
		return -1;
	return keep_skeleton(forest, err);
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
