/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's masks as steps of mounting, for drivers that show this machine read-only. */
#include "driver/copied_masks.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/dir.h"
#include "base/text/clean_path.h"
#include "spec/mask.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Made anew: what the host's programs keep there is none of the command's business. */
static const char *const fresh[] = { "/run", "/tmp", "/var/tmp" };

struct masking {
	const struct spec *spec;
	copied_mask_step *step;
	void *cookie;
};

static bool is_fresh(const char *path)
{
	for (size_t i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++) {
		if (path_is_within(path, fresh[i]))
			return true;
	}
	return false;
}

static int hide(const struct masking *masking, const char *path, struct error *err)
{
	struct stat st;

	if (is_fresh(path) || lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;
	return masking->step(S_ISDIR(st.st_mode) ? COPIED_EMPTY : COPIED_HIDE, path,
			     masking->cookie, err);
}

/* Each entry of the pattern's directory that it hides. */
static int hide_matching(const struct masking *masking, const char *pattern, struct error *err)
{
	owned(free_ptr) char *parent = xstrndup(pattern, (size_t)(strrchr(pattern, '/') - pattern));
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, parent);
	struct dirent *entry;
	int status = 0;

	while (dir && status == 0 && dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *path = xasprintf("%s/%s", parent, entry->d_name);

		if (mask_pattern_match(pattern, path) == strlen(path) &&
		    !mask_shows(masking->spec, path))
			status = hide(masking, path, err);
	}
	return status;
}

static int mask_one(const struct masking *masking, const struct spec_mask *mask, struct error *err)
{
	const struct spec *spec = masking->spec;
	struct stat st;

	if (path_is_within(mask->path, spec->workspace))
		return 0;
	if (mask->kind == MASK_KEEP) {
		bool is_hidden = !mask_parent_shows(spec, mask->path) || is_fresh(mask->path);

		return is_hidden && lstat(mask->path, &st) == 0 && !S_ISLNK(st.st_mode)
			       ? masking->step(S_ISDIR(st.st_mode) ? COPIED_KEEP : COPIED_KEEP_FILE,
					       mask->path, masking->cookie, err)
			       : 0;
	}
	/* What is hidden in an empty directory is not there. */
	if (!mask_parent_shows(spec, mask->path))
		return 0;
	if (mask->kind == MASK_GLOB)
		return hide_matching(masking, mask->path, err);
	return hide(masking, mask->path, err);
}

int copied_masks(const struct spec *spec, copied_mask_step *step, void *cookie, struct error *err)
{
	const struct masking masking = { spec, step, cookie };

	for (size_t i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++) {
		if (step(COPIED_EMPTY, fresh[i], cookie, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < spec->tree_count; i++) {
		if (spec->trees[i].kind == TREE_HIDDEN &&
		    hide(&masking, spec->trees[i].path, err) < 0)
			return -1;
	}
	/* Sorted by path: what lies in a directory comes after it. */
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (mask_one(&masking, &spec->masks[i], err) < 0)
			return -1;
	}
	return 0;
}
