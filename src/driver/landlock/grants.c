/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a landlocked payload may read: what the plan shows.
 *
 * A rule covers all that lies below a directory, and nothing can be taken out of it again. So a directory with something
 * hidden in it gets no rule, but those of its entries do that hold nothing hidden. It cannot be listed then: a mask here is a
 * denial, not an absence.
 */
#include "driver/landlock/landlock_parts.h"

#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/text/clean_path.h"
#include "confine/landlock.h"
#include "spec/mask.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Processes, devices and sockets of the host, and what its programs leave for a moment. */
static const char *const never[] = {
	"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/var/run"
};

struct granting {
	int ruleset_fd;
	const struct spec *spec;
};

static bool is_never(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		if (path_is_within(path, never[i]))
			return true;
	}
	for (size_t i = 0; i < spec->tree_count; i++) {
		if (spec->trees[i].kind == TREE_HIDDEN && path_is_within(path, spec->trees[i].path))
			return true;
	}
	/* The copy stands for it. */
	return path_is_within(path, spec->workspace) || mask_has_file(spec, path);
}

/* Whether something below directory PATH is not to be seen. */
static bool holds_hidden(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		if (path_is_within(never[i], path))
			return true;
	}
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (spec->masks[i].kind != MASK_KEEP && path_is_within(spec->masks[i].path, path))
			return true;
	}
	for (size_t i = 0; i < spec->tree_count; i++) {
		if (spec->trees[i].kind == TREE_HIDDEN && path_is_within(spec->trees[i].path, path))
			return true;
	}
	return path_is_within(spec->workspace, path) || path_is_within(spec->store_dir, path);
}

static int grant_whole(const struct granting *granting, const char *path, uint64_t access,
		       struct error *err)
{
	owned(fd_close) int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	/* Gone meanwhile, or a link, whose target has rules of its own. */
	if (fd < 0)
		return 0;
	if (landlock_allow(granting->ruleset_fd, fd, access) < 0 && errno != EINVAL)
		return error_errno(err, ERROR_DENIED, "cannot add a Landlock rule for %s", path);
	return 0;
}

static int grant(const struct granting *granting, const char *path, struct error *err);

static int grant_entries(const struct granting *granting, const char *path, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, path);
	struct dirent *entry;
	int status = 0;

	/* What the caller cannot list is not granted. */
	while (dir && status == 0 && dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *child =
			xasprintf("%s/%s", path[1] ? path : "", entry->d_name);

		if (entry->d_type != DT_LNK)
			status = grant(granting, child, err);
	}
	return status;
}

/* Of a directory that is hidden, what is kept in it. */
static int grant_kept(const struct granting *granting, const char *path, struct error *err)
{
	const struct spec *spec = granting->spec;

	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (mask->kind == MASK_KEEP && strcmp(mask->path, path) != 0 &&
		    path_is_within(mask->path, path) && grant(granting, mask->path, err) < 0)
			return -1;
	}
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the plan's masks are */
static int grant(const struct granting *granting, const char *path, struct error *err)
{
	const struct spec *spec = granting->spec;

	if (is_never(spec, path))
		return 0;
	if (!mask_shows(spec, path))
		return grant_kept(granting, path, err);
	if (holds_hidden(spec, path))
		return grant_entries(granting, path, err);
	return grant_whole(granting, path, LANDLOCK_READS, err);
}

int grants_add(int ruleset_fd, const struct spec *spec, struct error *err)
{
	const struct granting granting = { ruleset_fd, spec };

	for (size_t i = 0; copied_devices[i]; i++) {
		if (grant_whole(&granting, copied_devices[i], LANDLOCK_DEVICE, err) < 0)
			return -1;
	}
	return grant(&granting, "/", err);
}
