/* SPDX-License-Identifier: Apache-2.0 */
/* Masks: building the layer of whiteouts, empty directories and kept directories. */
#include "confine/mask/mask.h"

#include "base/text/clean_path.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "confine/mask/mask_metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * The layer and how far it was built: masks are sorted, so neighbours share most of their parents. Everything in the
 * layer is named by its path below it; no directory is held open.
 */
struct builder {
	const struct spec *spec;
	const struct mask_layer *layer;
	char made[PATH_MAX]; /* the directory made last, with all its parents */
	char seen[PATH_MAX]; /* a directory that the host has, as all its parents are */
	struct strv merged;  /* directories that show the host's content, in the order made */
	struct strv listed;  /* those of them that are opaque, with a list of entries */
};

static int set_xattr(const struct builder *builder, const char *below, const char *key,
		     const char *value)
{
	char name[64], path[PATH_MAX];

	(void)snprintf(name, sizeof(name), "%s.overlay.%s",
		       builder->layer->user_xattr ? "user" : "trusted", key);
	if (mask_name(builder->layer, below, path, sizeof(path)) < 0)
		return -1;
	return lsetxattr(path, name, value, strlen(value), 0);
}

/* What BELOW (a path in the layer) is called on the host. */
static int host_path(const struct mask_layer *layer, const char *below, char *out, size_t size)
{
	const char *between = strcmp(layer->path, "/") == 0 || !*below ? "" : "/";
	int len = snprintf(out, size, "%s%s%s", layer->path, between, below);

	return len > 0 && (size_t)len < size ? 0 : -1;
}

/* A directory of the layer that merges with the host's: it shows its own metadata, so it gets the host's. */
static int make_directory(struct builder *builder, const char *below, struct error *err)
{
	char path[PATH_MAX];

	if (mkdirat(builder->layer->dir_fd, below, 0755) < 0)
		return errno == EEXIST ? 0 : error_errno(err, ERROR_HOST, "mask layer: %s", below);
	if (host_path(builder->layer, below, path, sizeof(path)) < 0)
		return error_set(err, ERROR_INPUT, "masked path is too long: %s", below);
	strv_add(&builder->merged, below);
	return mask_copy_metadata(builder->layer, path, below, err);
}

/* Making something in a directory changes its times: they are put right when all is made. */
static void restore_times(const struct builder *builder)
{
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < builder->merged.count; i++) {
		const char *below = builder->merged.items[i];

		if (host_path(builder->layer, below, path, sizeof(path)) == 0 &&
		    lstat(path, &st) == 0)
			mask_copy_times(builder->layer, &st, below);
	}
	if (lstat(builder->layer->path, &st) == 0)
		mask_copy_times(builder->layer, &st, ".");
}

/* Length of the part of BELOW that was made last time. */
static size_t made_already(const struct builder *builder, const char *below)
{
	size_t len = strlen(builder->made);

	while (len > 0 && (strncmp(builder->made, below, len) != 0 ||
			   (below[len] != '/' && below[len] != '\0'))) {
		while (len > 0 && builder->made[--len] != '/')
			;
	}
	return len;
}

/* Makes BELOW[0..len) and its parents. */
static int make_path(struct builder *builder, const char *below, size_t len, struct error *err)
{
	char path[PATH_MAX];

	if (len >= sizeof(path))
		return error_set(err, ERROR_INPUT, "masked path is too long: %s", below);
	for (size_t at = made_already(builder, below); at < len;) {
		at += below[at] == '/';
		at += strcspn(below + at, "/");
		if (at > len)
			at = len;
		memcpy(path, below, at);
		path[at] = '\0';
		if (make_directory(builder, path, err) < 0)
			return -1;
	}
	memcpy(builder->made, below, len);
	builder->made[len] = '\0';
	return 0;
}

static int make_parents(struct builder *builder, const char *below, struct error *err)
{
	const char *slash = strrchr(below, '/');

	return make_path(builder, below, slash ? (size_t)(slash - below) : 0, err);
}

static int hide_directory(struct builder *builder, const char *path, const struct stat *st,
			  const char *below, struct error *err)
{
	int dir_fd = builder->layer->dir_fd;

	/* Empty and opaque: owner and mode are all there is to see of it. One that leads to something kept is there already. */
	if (mkdirat(dir_fd, below, 0755) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "mask for %s", path);
	if (mask_copy_owner(builder->layer, st, below, err) < 0)
		return -1;
	if (set_xattr(builder, below, "opaque", "y") == 0)
		return 0;
	/* No extended attributes on this tmpfs (before 6.6): the directory disappears instead. */
	if (unlinkat(dir_fd, below, AT_REMOVEDIR) < 0 && errno == ENOTDIR)
		return 0; /* it has: another rule hides it, too */
	if (mknodat(dir_fd, below, S_IFCHR, makedev(0, 0)) < 0)
		return error_errno(err, ERROR_HOST, "mask for %s", path);
	return 0;
}

/* What a list leaves out is hidden; a whiteout there would be seen, as the directory has no layer below it. */
static bool is_left_out(const struct builder *builder, const char *below)
{
	const char *slash = strrchr(below, '/');

	for (size_t i = 0; slash && i < builder->listed.count; i++) {
		const char *listed = builder->listed.items[i];

		if (strncmp(listed, below, (size_t)(slash - below)) == 0 &&
		    listed[slash - below] == '\0')
			return true;
	}
	return false;
}

static int whiteout(struct builder *builder, const char *path, const char *below, struct error *err)
{
	if (is_left_out(builder, below))
		return 0;
	if (make_parents(builder, below, err) < 0)
		return -1;
	if (mknodat(builder->layer->dir_fd, below, S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "mask for %s", path);
	return 0;
}

static int hide(struct builder *builder, const char *path, const struct stat *st, const char *below,
		struct error *err)
{
	if (make_parents(builder, below, err) < 0)
		return -1;
	if (S_ISDIR(st->st_mode))
		return hide_directory(builder, path, st, below, err);
	return whiteout(builder, path, below, err);
}

static int keep_link(struct builder *builder, const char *path, const char *below,
		     struct error *err)
{
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target) - 1);

	if (len < 0)
		return 0;
	target[len] = '\0';
	if (make_parents(builder, below, err) < 0)
		return -1;
	if (symlinkat(target, builder->layer->dir_fd, below) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "mask for %s", path);
	return 0;
}

/* Whether the layer's own lower holds PATH: no other mount of the host lies in between. */
static bool is_same_tree(const struct builder *builder, const char *path)
{
	for (size_t i = 0; i < builder->spec->tree_count; i++) {
		const struct spec_tree *tree = &builder->spec->trees[i];

		if (strlen(tree->path) > strlen(builder->layer->path) &&
		    path_is_within(path, tree->path))
			return false;
	}
	return true;
}

/* The host's directory PATH, shown below one that is hidden or opaque. */
static int keep_directory(struct builder *builder, const char *path, const char *below,
			  struct error *err)
{
	char redirect[PATH_MAX + 1];

	if (make_path(builder, below, strlen(below), err) < 0)
		return -1;
	if (builder->layer->user_xattr || !is_same_tree(builder, path))
		return 0; /* a mount point: an overlay of its own goes there */
	(void)snprintf(redirect, sizeof(redirect), "/%s", below);
	if (set_xattr(builder, below, "redirect", redirect) < 0)
		return error_errno(err, ERROR_HOST, "cannot keep %s visible", path);
	return 0;
}

static int keep(struct builder *builder, const char *path, const struct stat *st, const char *below,
		struct error *err)
{
	if (mask_parent_shows(builder->spec, path))
		return 0;
	if (S_ISLNK(st->st_mode))
		return keep_link(builder, path, below, err);
	return S_ISDIR(st->st_mode) ? keep_directory(builder, path, below, err) : 0;
}

/* No layer can redirect a single file without giving up that changes hold whole files: it holds a copy instead. */
static int copy_file(struct builder *builder, const char *path, const char *below,
		     struct error *err)
{
	owned(fd_close) int from = file_open(AT_FDCWD, path, O_NOFOLLOW, NULL);
	owned(str_done) struct str content = STR_INIT;
	bool is_readable = from >= 0;

	/* Longer than it was when the plan was made: it is left out, as a later entry is. */
	if (is_readable && fd_read_all(from, MASK_LIST_FILE_MAX, &content) < 0)
		return 0;
	owned(fd_close) int to = openat(builder->layer->dir_fd, below,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					is_readable ? 0755 : 0);

	if (to < 0)
		return errno == EEXIST ? 0 : error_errno(err, ERROR_HOST, "mask layer: %s", below);
	if (fd_write_all(to, content.data, content.len) < 0)
		return error_errno(err, ERROR_HOST, "mask layer: %s", below);
	/* What the caller may not read stays a name. */
	return is_readable ? mask_copy_metadata(builder->layer, path, below, err) : 0;
}

static int list_entry(struct builder *builder, const char *path, struct error *err)
{
	const char *below = path + strlen(builder->layer->path);
	struct stat st;

	below += strspn(below, "/");
	if (!mask_shows(builder->spec, path) || lstat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return keep_directory(builder, path, below, err);
	if (S_ISLNK(st.st_mode))
		return keep_link(builder, path, below, err);
	return S_ISREG(st.st_mode) ? copy_file(builder, path, below, err) : 0;
}

/* An opaque directory with the entries that are there now. */
static int list_directory(struct builder *builder, const char *path, const char *below,
			  struct error *err)
{
	owned(dir_close) DIR *dir = opendir(path);
	char child[PATH_MAX + NAME_MAX + 2];
	struct dirent *entry;
	int status = 0;

	/* Gone since the plan was made, or unreadable: an empty one is shown. */
	if (make_path(builder, below, strlen(below), err) < 0)
		return -1;
	/* Before 6.6 a plain user's tmpfs knows no opaque directories: the host's stays, and whiteouts hide what is there. */
	if (set_xattr(builder, below, "opaque", "y") < 0)
		return 0;
	strv_add(&builder->listed, below);
	while (status == 0 && dir_next(dir, &entry) > 0) {
		(void)snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		status = list_entry(builder, child, err);
	}
	return status;
}

static int put_file(struct builder *builder, const char *below, const char *content,
		    struct error *err)
{
	const struct spec_ids *ids = builder->layer->ids;
	size_t len = content ? strlen(content) : 0;

	if (make_parents(builder, below, err) < 0)
		return -1;
	owned(fd_close) int fd =
		openat(builder->layer->dir_fd, below,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || fd_write_all(fd, content, len) < 0)
		return error_errno(err, ERROR_HOST, "mask layer: %s", below);
	if (ids && fchown(fd, ids->host_uid + ids->uid, ids->host_gid + ids->gid) < 0)
		return error_errno(err, ERROR_HOST, "mask layer: owner of %s", below);
	return 0;
}

static int hide_matching(struct builder *builder, const char *pattern, struct error *err)
{
	char dir_path[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	const char *slash = strrchr(pattern, '/');
	struct dirent *entry;
	struct stat st;
	int status = 0;

	if (!mask_parent_shows(builder->spec, pattern))
		return 0;
	(void)snprintf(dir_path, sizeof(dir_path), "%.*s", (int)(slash - pattern), pattern);
	owned(dir_close) DIR *dir = opendir(dir_path[0] ? dir_path : "/");

	while (status == 0 && dir_next(dir, &entry) > 0) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		/* What a rule keeps by its name stays, whatever the pattern. */
		if (!mask_pattern_match(pattern, path) || mask_shows(builder->spec, path))
			continue;
		const char *below = path + strlen(builder->layer->path);

		if (lstat(path, &st) == 0)
			status = hide(builder, path, &st, below + strspn(below, "/"), err);
	}
	return status;
}

/* Whether BELOW is a directory of the host, and no link to one. 1, 0, or -1 when there is nothing. */
static int is_host_directory(struct builder *builder, const char *below)
{
	const size_t len = strlen(below);
	char host[PATH_MAX];
	struct stat st;

	if (strncmp(builder->seen, below, len) == 0 &&
	    (builder->seen[len] == '/' || builder->seen[len] == '\0'))
		return 1;
	if (host_path(builder->layer, below, host, sizeof(host)) < 0)
		return 0;
	if (lstat(host, &st) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		return 0;
	(void)snprintf(builder->seen, sizeof(builder->seen), "%s", below);
	return 1;
}

/*
 * Names are protected, not files: what the host makes there while the sandbox runs must not appear. The first part of the
 * path that does not exist is whited out; the caller has found that the whole of it does not.
 */
static int hide_absent(struct builder *builder, const char *path, const char *below,
		       struct error *err)
{
	char part[PATH_MAX];

	if (mask_shows(builder->spec, path) || !mask_parent_shows(builder->spec, path))
		return 0;
	for (size_t end = strcspn(below, "/");; end += 1 + strcspn(below + end + 1, "/")) {
		if (end >= sizeof(part))
			return 0;
		memcpy(part, below, end);
		part[end] = '\0';
		int found = below[end] ? is_host_directory(builder, part) : -1;

		if (found < 0)
			return whiteout(builder, path, part, err);
		/* Nothing can appear below a file or a link. */
		if (found == 0)
			return 0;
	}
}

/* Most listed paths do not exist on a given machine: that is looked at first. */
static int apply_to_path(struct builder *builder, const struct spec_mask *mask, const char *below,
			 struct error *err)
{
	const struct spec *spec = builder->spec;
	struct stat st;

	if (lstat(mask->path, &st) < 0)
		return mask->kind == MASK_HIDE ? hide_absent(builder, mask->path, below, err) : 0;
	if (mask->kind == MASK_LIST)
		return S_ISDIR(st.st_mode) ? list_directory(builder, mask->path, below, err) : 0;
	if (mask->kind == MASK_KEEP)
		return keep(builder, mask->path, &st, below, err);
	/* A KEEP for the very same path wins: nothing to hide then. */
	if (mask_shows(spec, mask->path))
		return 0;
	if (mask_parent_shows(spec, mask->path))
		return hide(builder, mask->path, &st, below, err);
	return mask->kind == MASK_EMPTY ? make_path(builder, below, strlen(below), err) : 0;
}

static int apply(struct builder *builder, const struct spec_mask *mask, struct error *err)
{
	const char *below = mask->path + strlen(builder->layer->path);

	below += strspn(below, "/");
	switch (mask->kind) {
	case MASK_HIDE:
	case MASK_EMPTY:
	case MASK_KEEP:
	case MASK_LIST:
		return apply_to_path(builder, mask, below, err);
	case MASK_GONE:
		return access(mask->path, F_OK) == 0 ? whiteout(builder, mask->path, below, err)
						     : 0;
	case MASK_GLOB:
		return hide_matching(builder, mask->path, err);
	case MASK_FILE:
		return put_file(builder, below, mask->content, err);
	}
	return 0;
}

/* Binds need something to be mounted on; what the host has not is made here, in the layer. */
static int add_mount_point(struct builder *builder, const struct spec_bind *bind, struct error *err)
{
	const char *below = bind->target + strlen(builder->layer->path);
	struct stat source, target;

	below += strspn(below, "/");
	if (!*below || stat(bind->source, &source) < 0)
		return 0;
	if (mask_parent_shows(builder->spec, bind->target) &&
	    mask_shows(builder->spec, bind->target) && lstat(bind->target, &target) == 0 &&
	    S_ISDIR(source.st_mode) == S_ISDIR(target.st_mode) && !S_ISLNK(target.st_mode))
		return 0;
	if (S_ISDIR(source.st_mode))
		return make_path(builder, below, strlen(below), err);
	return put_file(builder, below, NULL, err);
}

int mask_build(const struct spec *spec, const struct mask_layer *layer, struct error *err)
{
	struct builder builder = { .spec = spec, .layer = layer };
	int status = 0;

	for (size_t i = 0; status == 0 && i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (path_is_within(mask->path, layer->path) && strcmp(mask->path, layer->path) != 0)
			status = apply(&builder, mask, err);
	}
	for (size_t i = 0; status == 0 && i < spec->bind_count; i++) {
		if (path_is_within(spec->binds[i].target, layer->path))
			status = add_mount_point(&builder, &spec->binds[i], err);
	}
	restore_times(&builder);
	strv_done(&builder.merged);
	strv_done(&builder.listed);
	return status;
}
