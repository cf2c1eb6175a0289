/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that are shown as the list of their entries: which, and that they hold little enough. */
#include "app/prepare/mask_lists.h"

#include "base/clean_path.h"
#include "base/dir.h"
#include "base/own.h"
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
#define BYTES_MAX (8 * MASK_LIST_FILE_MAX)
#define ENTRIES_MAX 1000u

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

static bool is_in_place(const struct spec *spec, const char *dir)
{
	if (path_is_within(dir, spec->workspace))
		return false;
	if (spec->root != ROOT_IDMAPPED)
		return path_is_within(dir, "/etc");
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

void mask_lists_add(struct spec *spec)
{
	owned(strv_done) struct strv dirs = STRV_INIT;

	for (size_t i = 0; i < spec->mask_count; i++) {
		const char *path = spec->masks[i].path;

		if (spec->masks[i].kind != MASK_GLOB || !mask_parent_shows(spec, path))
			continue;
		owned(free_ptr) char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

		if (!strv_has(&dirs, dir) && is_in_place(spec, dir) && is_small(spec, dir))
			strv_take(&dirs, ptr_take(&dir));
	}
	for (size_t i = 0; i < dirs.count; i++)
		add_list(spec, dirs.items[i]);
}

/*
 * Inside, root has no capability: it cannot give files to _apt, nor write to what is that user's. The last file that apt
 * reads has it fetch as root, into directories that it makes there itself.
 */
void mask_apt_add(struct spec *spec)
{
	static const char apt[] = "APT::Sandbox::User \"root\";\n"
				  "Dir::State::Lists \"/var/lib/apt/lists.inside\";\n"
				  "Dir::Log \"/var/cache/apt\";\n";

	if (spec->root == ROOT_IDMAPPED && access(APT_PARTS, X_OK) == 0)
		spec_insert_mask(spec, MASK_FILE, APT_PARTS "/zz-aisbx")->content = xstrdup(apt);
}
