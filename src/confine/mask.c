/* Masks: building the layer of whiteouts, empty directories and kept directories. */
#include "confine/mask.h"

#include "base/own.h"
#include "base/str.h"
#include "spec/clean_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DEPTH_MAX 40

/*
 * Open directories of the layer along the path worked on last: masks are sorted, so neighbours share most of it.
 * names holds the path below the layer's root without a leading slash.
 */
struct cursor {
	const struct spec *spec;
	const struct mask_layer *layer;
	int fds[DEPTH_MAX];
	size_t ends[DEPTH_MAX]; /* length of `names` up to and including this component */
	size_t depth;
	char names[PATH_MAX];
};

static bool is_directory_rule(enum mask_kind kind)
{
	return kind == MASK_HIDE || kind == MASK_EMPTY || kind == MASK_KEEP;
}

/* The first mask whose path is not before PATH[0..len); masks are sorted by path. */
static size_t lower_bound(const struct spec *spec, const char *path, size_t len)
{
	size_t low = 0, high = spec->mask_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strncmp(spec->masks[middle].path, path, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The rule for exactly PATH[0..len), or NULL. Of several for one path KEEP wins. */
static const struct spec_mask *rule_at(const struct spec *spec, const char *path, size_t len)
{
	const struct spec_mask *found = NULL;

	for (size_t i = lower_bound(spec, path, len); i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (strncmp(mask->path, path, len) != 0 || mask->path[len] != '\0')
			break;
		if (is_directory_rule(mask->kind) && (!found || mask->kind == MASK_KEEP))
			found = mask;
	}
	return found;
}

/* The deepest rule on the way to PATH; strictly above it unless INCLUSIVE. */
static const struct spec_mask *deepest_rule(const struct spec *spec, const char *path,
					    bool inclusive)
{
	size_t len = strlen(path);
	const struct spec_mask *found = inclusive ? rule_at(spec, path, len) : NULL;

	while (!found && len > 1) {
		while (path[--len] != '/')
			;
		if (len > 0)
			found = rule_at(spec, path, len);
	}
	return found;
}

bool mask_shows(const struct spec *spec, const char *path)
{
	const struct spec_mask *rule = deepest_rule(spec, path, true);

	return !rule || rule->kind == MASK_KEEP;
}

static bool parent_shows(const struct spec *spec, const char *path)
{
	const struct spec_mask *rule = deepest_rule(spec, path, false);

	return !rule || rule->kind == MASK_KEEP;
}

bool mask_keeps_below(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if ((mask->kind == MASK_KEEP || mask->kind == MASK_FILE) &&
		    path_is_within(mask->path, path) && strcmp(mask->path, path) != 0)
			return true;
	}
	for (size_t i = 0; i < spec->bind_count; i++) {
		if (path_is_within(spec->binds[i].target, path))
			return true;
	}
	return false;
}

static bool is_private_xattr(const char *name)
{
	return strncmp(name, "trusted.", 8) == 0 || strncmp(name, "security.", 9) == 0 ||
	       strncmp(name, "user.overlay.", 13) == 0;
}

static void copy_xattrs(const char *path, int fd)
{
	char names[1024], value[4096], target[40];
	ssize_t len = llistxattr(path, names, sizeof(names));

	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		if (is_private_xattr(names + at))
			continue;
		ssize_t size = lgetxattr(path, names + at, value, sizeof(value));

		/* An attribute that does not fit the layer's filesystem is cosmetic here: not an error. */
		if (size >= 0)
			(void)setxattr(target, names + at, value, (size_t)size, 0);
	}
}

static uid_t shifted(const struct spec_ids *ids, uid_t id, uid_t base)
{
	return id < ids->count ? base + id : (uid_t)-1;
}

int mask_copy_metadata(const struct mask_layer *layer, const char *path, int fd, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (layer->ids && fchown(fd, shifted(layer->ids, st.st_uid, layer->ids->host_uid),
				 shifted(layer->ids, st.st_gid, layer->ids->host_gid)) < 0)
		return error_errno(err, ERROR_HOST, "mask layer: owner of %s", path);
	if ((st.st_mode & 07777) != 0755 && fchmod(fd, st.st_mode & 07777) < 0)
		return error_errno(err, ERROR_HOST, "mask layer: mode of %s", path);
	copy_xattrs(path, fd);
	struct timespec times[2] = { st.st_atim, st.st_mtim };

	(void)futimens(fd, times);
	return 0;
}

static int set_xattr(const struct cursor *cursor, int dir_fd, const char *key, const char *value)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s.overlay.%s",
		       cursor->layer->user_xattr ? "user" : "trusted", key);
	return fsetxattr(dir_fd, name, value, strlen(value), 0);
}

/* What BELOW (a path in the layer) is called on the host. */
static int host_path(const struct cursor *cursor, const char *below, char *out, size_t size)
{
	const char *root = cursor->layer->path;
	const char *between = strcmp(root, "/") == 0 || !*below ? "" : "/";
	int len = snprintf(out, size, "%s%s%s", root, between, below);

	return len > 0 && (size_t)len < size ? 0 : -1;
}

static void leave_to(struct cursor *cursor, size_t depth)
{
	while (cursor->depth > depth)
		close(cursor->fds[--cursor->depth]);
	cursor->names[depth ? cursor->ends[depth - 1] : 0] = '\0';
}

static int top_fd(const struct cursor *cursor)
{
	return cursor->depth ? cursor->fds[cursor->depth - 1] : cursor->layer->dir_fd;
}

/* Steps into NAME of the directory worked on, making it with the host's metadata when it is not there. */
static int enter(struct cursor *cursor, const char *name, size_t len, struct error *err)
{
	char component[NAME_MAX + 1], path[PATH_MAX];
	int parent = top_fd(cursor);
	size_t used = cursor->depth ? cursor->ends[cursor->depth - 1] : 0;
	bool is_new;

	if (cursor->depth == DEPTH_MAX || len > NAME_MAX || used + len + 2 > sizeof(cursor->names))
		return error_set(err, ERROR_INPUT, "masked path is too deep: %s", cursor->names);
	memcpy(component, name, len);
	component[len] = '\0';
	is_new = mkdirat(parent, component, 0755) == 0;
	if (!is_new && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "mask layer: %s", component);
	used += (size_t)snprintf(cursor->names + used, sizeof(cursor->names) - used, "%s%s",
				 used ? "/" : "", component);
	if (host_path(cursor, cursor->names, path, sizeof(path)) < 0)
		return error_set(err, ERROR_INPUT, "masked path is too long: %s", cursor->names);
	int fd = openat(parent, component, O_RDONLY | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "mask layer: %s", path);
	cursor->ends[cursor->depth] = used;
	cursor->fds[cursor->depth++] = fd;
	return is_new ? mask_copy_metadata(cursor->layer, path, fd, err) : 0;
}

/* Goes to the directory BELOW (relative to the layer), reusing what is open. */
static int go_to(struct cursor *cursor, const char *below, struct error *err)
{
	size_t depth = 0;

	while (depth < cursor->depth) {
		size_t end = cursor->ends[depth];

		if (strncmp(cursor->names, below, end) != 0 || (below[end] && below[end] != '/'))
			break;
		depth++;
	}
	leave_to(cursor, depth);
	const char *rest = below + (depth ? cursor->ends[depth - 1] : 0);

	while (*rest) {
		rest += strspn(rest, "/");
		size_t len = strcspn(rest, "/");

		if (len && enter(cursor, rest, len, err) < 0)
			return -1;
		rest += len;
	}
	return 0;
}

/* Goes to the parent of BELOW; *ret_name is its last component. */
static int go_to_parent(struct cursor *cursor, const char *below, const char **ret_name,
			struct error *err)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(below, '/');

	(void)snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - below) : 0, below);
	*ret_name = slash ? slash + 1 : below;
	return go_to(cursor, parent, err);
}

static int hide(struct cursor *cursor, const char *path, const struct stat *st, const char *below,
		struct error *err)
{
	const char *name;

	if (S_ISDIR(st->st_mode)) {
		if (go_to(cursor, below, err) < 0)
			return -1;
		if (set_xattr(cursor, top_fd(cursor), "opaque", "y") == 0)
			return 0;
		/* No extended attributes on this tmpfs (before 6.6): the directory disappears instead. */
		leave_to(cursor, cursor->depth - 1);
	}
	if (go_to_parent(cursor, below, &name, err) < 0)
		return -1;
	if (S_ISDIR(st->st_mode) && unlinkat(top_fd(cursor), name, AT_REMOVEDIR) < 0)
		return error_errno(err, ERROR_HOST, "mask for %s", path);
	if (mknodat(top_fd(cursor), name, S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "mask for %s", path);
	return 0;
}

static int keep_link(struct cursor *cursor, const char *path, const char *below, struct error *err)
{
	char target[PATH_MAX];
	const char *name;
	ssize_t len = readlink(path, target, sizeof(target) - 1);

	if (len < 0)
		return 0;
	target[len] = '\0';
	if (go_to_parent(cursor, below, &name, err) < 0)
		return -1;
	if (symlinkat(target, top_fd(cursor), name) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "mask for %s", path);
	return 0;
}

/* Whether the layer's own lower holds PATH: no other mount of the host lies in between. */
static bool is_same_tree(const struct cursor *cursor, const char *path)
{
	for (size_t i = 0; i < cursor->spec->tree_count; i++) {
		const struct spec_tree *tree = &cursor->spec->trees[i];

		if (strlen(tree->path) > strlen(cursor->layer->path) &&
		    path_is_within(path, tree->path))
			return false;
	}
	return true;
}

static int keep(struct cursor *cursor, const char *path, const struct stat *st, const char *below,
		struct error *err)
{
	char redirect[PATH_MAX];

	if (parent_shows(cursor->spec, path))
		return 0;
	if (S_ISLNK(st->st_mode))
		return keep_link(cursor, path, below, err);
	if (!S_ISDIR(st->st_mode))
		return 0;
	if (go_to(cursor, below, err) < 0)
		return -1;
	if (cursor->layer->user_xattr || !is_same_tree(cursor, path))
		return 0; /* a mount point: an overlay of its own goes there */
	(void)snprintf(redirect, sizeof(redirect), "/%s", below);
	if (set_xattr(cursor, top_fd(cursor), "redirect", redirect) < 0)
		return error_errno(err, ERROR_HOST, "cannot keep %s visible", path);
	return 0;
}

static int put_file(struct cursor *cursor, const char *below, const char *content,
		    struct error *err)
{
	const char *name;

	if (go_to_parent(cursor, below, &name, err) < 0)
		return -1;
	owned(fd_close) int fd = openat(top_fd(cursor), name,
					O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	size_t len = content ? strlen(content) : 0;

	if (fd < 0 || (len && write(fd, content, len) != (ssize_t)len))
		return error_errno(err, ERROR_HOST, "mask layer: %s", below);
	const struct spec_ids *ids = cursor->layer->ids;

	if (ids && fchown(fd, ids->host_uid + ids->uid, ids->host_gid + ids->gid) < 0)
		return error_errno(err, ERROR_HOST, "mask layer: owner of %s", below);
	return 0;
}

static int hide_matching(struct cursor *cursor, const char *pattern, struct error *err)
{
	char dir_path[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	const char *slash = strrchr(pattern, '/');
	struct stat st;
	int status = 0;

	(void)snprintf(dir_path, sizeof(dir_path), "%.*s", (int)(slash - pattern), pattern);
	if (!mask_shows(cursor->spec, dir_path))
		return 0;
	DIR *dir = opendir(dir_path[0] ? dir_path : "/");

	if (!dir)
		return 0;
	for (struct dirent *entry; status == 0 && (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fnmatch(slash + 1, entry->d_name, 0) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		const char *below = path + strlen(cursor->layer->path);

		if (lstat(path, &st) == 0)
			status = hide(cursor, path, &st, below + strspn(below, "/"), err);
	}
	closedir(dir);
	return status;
}

/* Most listed paths do not exist on a given machine: that is looked at first. */
static int apply_to_path(struct cursor *cursor, const struct spec_mask *mask, const char *below,
			 struct error *err)
{
	const struct spec *spec = cursor->spec;
	struct stat st;

	if (lstat(mask->path, &st) < 0)
		return 0;
	if (mask->kind == MASK_KEEP)
		return keep(cursor, mask->path, &st, below, err);
	/* A KEEP for the very same path wins: nothing to hide then. */
	if (mask_shows(spec, mask->path))
		return 0;
	if (parent_shows(spec, mask->path))
		return hide(cursor, mask->path, &st, below, err);
	return mask->kind == MASK_EMPTY ? go_to(cursor, below, err) : 0;
}

static int apply(struct cursor *cursor, const struct spec_mask *mask, struct error *err)
{
	const char *below = mask->path + strlen(cursor->layer->path);

	below += strspn(below, "/");
	switch (mask->kind) {
	case MASK_HIDE:
	case MASK_EMPTY:
	case MASK_KEEP:
		return apply_to_path(cursor, mask, below, err);
	case MASK_GLOB:
		return hide_matching(cursor, mask->path, err);
	case MASK_FILE:
		return put_file(cursor, below, mask->content, err);
	}
	return 0;
}

/* Binds need something to be mounted on; what the host has not is made here, in the layer. */
static int add_mount_point(struct cursor *cursor, const struct spec_bind *bind, struct error *err)
{
	const char *below = bind->target + strlen(cursor->layer->path);
	struct stat source, target;

	below += strspn(below, "/");
	if (!*below || stat(bind->source, &source) < 0)
		return 0;
	if (parent_shows(cursor->spec, bind->target) && mask_shows(cursor->spec, bind->target) &&
	    lstat(bind->target, &target) == 0 &&
	    S_ISDIR(source.st_mode) == S_ISDIR(target.st_mode) && !S_ISLNK(target.st_mode))
		return 0;
	if (S_ISDIR(source.st_mode))
		return go_to(cursor, below, err);
	return put_file(cursor, below, NULL, err);
}

int mask_build(const struct spec *spec, const struct mask_layer *layer, struct error *err)
{
	struct cursor cursor = { .spec = spec, .layer = layer };
	int status = 0;

	for (size_t i = 0; status == 0 && i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (path_is_within(mask->path, layer->path) && strcmp(mask->path, layer->path) != 0)
			status = apply(&cursor, mask, err);
	}
	for (size_t i = 0; status == 0 && i < spec->bind_count; i++) {
		if (path_is_within(spec->binds[i].target, layer->path))
			status = add_mount_point(&cursor, &spec->binds[i], err);
	}
	leave_to(&cursor, 0);
	return status;
}
