/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that are shown as the list of their entries: which, and that they hold little enough. */
#include "app/prepare/mask_lists.h"

#include "base/text/clean_path.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/hash/path_hash.h"
#include "confine/mask/mask.h"
#include "spec/mask.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the copies of one directory's files may take, and how many entries it may have. */
#define APT_PARTS "/etc/apt/apt.conf.d"
#define APT_LISTS "/var/lib/apt/lists"
#define BYTES_MAX (8 * MASK_LIST_FILE_MAX)
#define ENTRIES_MAX 1000u
/* How many mounts a plain user's HOME may be made of (ROOT_PARTS_MAX are for all). */
#define HOME_MOUNTS_MAX 300u

/* Whether a layer that lies on a directory above DIR shows it: a mount's own top cannot be made opaque in its layer. */
static bool is_below_shown_tree(const struct spec *spec, const char *dir)
{
	const struct spec_tree *holder = NULL;

	for (size_t i = 0; i < spec->tree_count; i++) {
		const struct spec_tree *tree = &spec->trees[i];

		if (path_is_within(dir, tree->path) &&
		    (!holder || strlen(tree->path) > strlen(holder->path)))
			holder = tree;
	}
	return holder && strcmp(holder->path, dir) != 0 && mask_shows(spec, holder->path);
}

/* Whether a list in HOME is a directory of the skeleton, with a mount for each of its directories. */
static bool is_skeleton_home(const struct spec *spec)
{
	return (spec->root == ROOT_FOREST || spec->root == ROOT_PROJECT) &&
	       !path_is_within(spec->home, spec->workspace) && mask_shows(spec, spec->home) &&
	       !mask_parent_shows(spec, spec->home);
}

static bool is_in_place(const struct spec *spec, const char *dir)
{
	if (path_is_within(dir, spec->workspace))
		return false;
	if (spec->root != ROOT_IDMAPPED)
		return path_is_within(dir, "/etc") && !path_is_within(dir, spec->home);
	return (path_is_within(dir, "/etc") || path_is_within(dir, spec->home)) &&
	       is_below_shown_tree(spec, dir);
}

/* Whether a layer can hold what DIR shows. */
static bool is_small(const struct spec *spec, const char *dir_path)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, dir_path);
	char path[PATH_MAX + NAME_MAX + 2];
	struct dirent *entry;
	unsigned entries = 0;
	size_t bytes = 0;
	struct stat st;

	while (dir_next(dir, &entry) > 0) {
		if (++entries > ENTRIES_MAX)
			return false;
		(void)snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		if (entry->d_type == DT_DIR || entry->d_type == DT_LNK || !mask_shows(spec, path) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		bytes += (size_t)st.st_size;
		if ((size_t)st.st_size > MASK_LIST_FILE_MAX || bytes > BYTES_MAX)
			return false;
	}
	return dir != NULL;
}

/* A rule that keeps DIR is weaker than one that shows its list, and has the same path. */
static void add_list(struct spec *spec, const char *dir)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (strcmp(spec->masks[i].path, dir) == 0) {
			spec->masks[i].kind = MASK_LIST;
			return;
		}
	}
	spec_insert_mask(spec, MASK_LIST, dir);
}

/* Directories in which a pattern applies. */
static void find_dirs(const struct spec *spec, struct strv *ret_dirs)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		const char *path = spec->masks[i].path;

		if (spec->masks[i].kind != MASK_GLOB || !mask_parent_shows(spec, path))
			continue;
		owned(free_ptr) char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

		if (!strv_has(ret_dirs, dir))
			strv_take(ret_dirs, ptr_take(&dir));
	}
}

/* Whether the sandbox has changes to DIR as one overlay, which they would no longer be shown in. */
static bool has_unit(const struct spec *spec, const char *dir)
{
	char name[PATH_HASH_SIZE], path[PATH_MAX];

	path_hash('u', dir, name);
	(void)snprintf(path, sizeof(path), "%s/%s", spec->upper_dir ? spec->upper_dir : "", name);
	bool is_there = access(path, F_OK) == 0;

	for (size_t i = 0; i < spec->layers.count && !is_there; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", spec->layers.items[i], name);
		is_there = access(path, F_OK) == 0;
	}
	return is_there;
}

/* Adds HOME, DIR and what lies between them: the top of an overlay cannot be a list. Not those below a link or a unit. */
static void add_home_dirs(const struct spec *spec, const char *dir, struct strv *dirs)
{
	for (size_t end = strlen(spec->home);; end += 1 + strcspn(dir + end + 1, "/")) {
		owned(free_ptr) char *part = xstrndup(dir, end);
		struct stat st;

		if (lstat(part, &st) < 0 || !S_ISDIR(st.st_mode) ||
		    path_is_within(part, spec->workspace) || has_unit(spec, part))
			return;
		if (!strv_has(dirs, part))
			strv_take(dirs, ptr_take(&part));
		if (!dir[end])
			return;
	}
}

/* Whether DIR can be shown with what is left of MOUNTS and BYTES: a file that is too large to be copied is a mount, too. */
static bool fits(const struct spec *spec, const char *dir_path, unsigned *mounts, size_t *bytes)
{
	owned(free_ptr) char *top = xstrndup(dir_path, 1 + strcspn(dir_path + 1, "/"));
	bool is_in_layer = mask_shows(spec, top);
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, dir_path);
	struct dirent *entry;
	struct stat st;

	for (unsigned entries = 0; dir_next(dir, &entry) > 0; entries++) {
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bool is_copy = S_ISREG(st.st_mode) && st.st_size <= (off_t)MASK_LIST_FILE_MAX;

		*mounts += S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && !is_copy);
		*bytes += is_copy ? (size_t)st.st_size : 0;
		/* Only the skeleton can have a mount for a file. */
		if (is_in_layer && S_ISREG(st.st_mode) && !is_copy)
			return false;
		if (entries > ENTRIES_MAX || *mounts > HOME_MOUNTS_MAX || *bytes > BYTES_MAX)
			return false;
	}
	return dir != NULL;
}

/*
 * All of HOME's lists or none: with one less, an overlay would lie where the skeleton was, and what a sandbox has changed
 * would not be seen. So one that has changed something keeps them, however much has come to lie there.
 */
static bool is_home_listed(const struct spec *spec, const struct strv *dirs)
{
	owned(free_ptr) char *units = xasprintf("%s/units", spec->upper_dir ? spec->upper_dir : "");
	unsigned mounts = 0;
	size_t bytes = 0;

	if (spec->layers.count > 0 || (spec->upper_dir && access(units, F_OK) == 0))
		return true;
	for (size_t i = 0; i < dirs->count; i++) {
		if (!fits(spec, dirs->items[i], &mounts, &bytes))
			return false;
	}
	return true;
}

void mask_home_lists_add(struct spec *spec)
{
	owned(strv_done) struct strv dirs = STRV_INIT, home_dirs = STRV_INIT;

	if (!is_skeleton_home(spec))
		return;
	find_dirs(spec, &dirs);
	for (size_t i = 0; i < dirs.count; i++) {
		if (path_is_within(dirs.items[i], spec->home))
			add_home_dirs(spec, dirs.items[i], &home_dirs);
	}
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (spec->masks[i].kind == MASK_LIST &&
		    path_is_within(spec->masks[i].path, spec->home))
			spec->masks[i].kind = MASK_KEEP;
	}
	if (!is_home_listed(spec, &home_dirs))
		return;
	for (size_t i = 0; i < home_dirs.count; i++)
		add_list(spec, home_dirs.items[i]);
}

void mask_lists_add(struct spec *spec)
{
	owned(strv_done) struct strv dirs = STRV_INIT;

	find_dirs(spec, &dirs);
	for (size_t i = 0; i < dirs.count; i++) {
		if (is_in_place(spec, dirs.items[i]) && is_small(spec, dirs.items[i]))
			add_list(spec, dirs.items[i]);
	}
	mask_home_lists_add(spec);
}

/*
 * Inside, root has no capability: it cannot give files to _apt, nor write to what is that user's. The last file that apt
 * reads has it fetch as root, into directories that it makes there itself; the host's lists are there already.
 */
void mask_apt_add(struct spec *spec)
{
	static const char apt[] = "APT::Sandbox::User \"root\";\n"
				  "Dir::Log \"/var/cache/apt\";\n";

	if (spec->root != ROOT_IDMAPPED || access(APT_PARTS, X_OK) < 0)
		return;
	spec_insert_mask(spec, MASK_FILE, APT_PARTS "/zz-aisbx")->content = xstrdup(apt);
	spec_insert_mask(spec, MASK_GONE, APT_LISTS "/auxfiles");
	spec_insert_mask(spec, MASK_GONE, APT_LISTS "/partial");
}
