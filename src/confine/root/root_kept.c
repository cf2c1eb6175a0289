/* SPDX-License-Identifier: Apache-2.0 */
/* What a named sandbox keeps: the writable top and the sealed layers of each unit. */
#include "confine/root/root_kept.h"

#include "base/text/clean_path.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/hash/path_hash.h"
#include "base/file/tree.h"
#include "confine/mask/mask.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNITS_MAX (4u << 20)
#define WORK_TRIES 5000
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

/* Under these names a unit's things are found; the record in `units` maps them to units. */
struct names {
	char upper[PATH_HASH_SIZE], work[PATH_HASH_SIZE], new[PATH_HASH_SIZE];
};

/* PATH as layers are opened: for privileged builders a clone that shows the sandbox's ids. */
static int open_mapped(struct root_builder *builder, const char *path, int *ret_fd,
		       struct error *err)
{
	owned(fd_close) int fd = -1;

	if (builder->userns_fd < 0) {
		fd = open(path, DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return error_errno(err, ERROR_HOST, "%s", path);
	} else if (mount_clone(AT_FDCWD, path, &fd, err) < 0 ||
		   mount_idmap(fd, builder->userns_fd, err) < 0) {
		return error_context(err, "%s", path);
	}
	*ret_fd = fd_take(&fd);
	return 0;
}

int kept_open(struct root_builder *builder, struct error *err)
{
	const struct spec *spec = builder->spec;
	char parent[PATH_MAX];

	if (!spec->upper_dir)
		return 0;
	builder->kept.top_fd = open(spec->upper_dir, DIRECTORY | O_CLOEXEC);
	if (builder->kept.top_fd < 0)
		return error_errno(err, ERROR_HOST, "writable layer %s", spec->upper_dir);
	if (open_mapped(builder, spec->upper_dir, &builder->kept.mapped_fd, err) < 0)
		return -1;
	if (file_read(builder->kept.top_fd, "units", UNITS_MAX, &builder->kept.units, err) < 0 &&
	    err->code != ERROR_NOT_FOUND)
		return -1;
	if (spec->layers.count == 0)
		return 0;
	(void)snprintf(parent, sizeof(parent), "%.*s",
		       (int)(strrchr(spec->layers.items[0], '/') - spec->layers.items[0]),
		       spec->layers.items[0]);
	return open_mapped(builder, parent, &builder->kept.layers_fd, err);
}

void kept_close(struct root_builder *builder)
{
	struct root_held *held = &builder->parts->held;
	int *const mounts[] = { &builder->kept.mapped_fd, &builder->kept.layers_fd };

	for (size_t i = 0; i < 2; i++) {
		if (builder->userns_fd >= 0 && *mounts[i] >= 0 &&
		    held->count < sizeof(held->fds) / sizeof(held->fds[0]))
			held->fds[held->count++] = fd_take(mounts[i]);
		fd_close(mounts[i]);
	}
	fd_close(&builder->kept.top_fd);
	str_done(&builder->kept.units);
}

bool kept_is_inside(const struct spec *spec, const char *source)
{
	return spec->layers.count > 0 && path_is_within(spec->layers.items[0], source);
}

bool kept_has(const struct root_builder *builder, const char *unit_path, const char *path)
{
	const struct strv *sealed = &builder->spec->layers;
	const char *below = path + strlen(unit_path);
	char name[PATH_HASH_SIZE], place[2 * PATH_MAX];

	/* The workspace is always shown as the host has it. */
	if (path_is_within(builder->spec->workspace, path))
		return false;
	path_hash('u', unit_path, name);
	(void)snprintf(place, sizeof(place), "%s/%s", name, below);
	bool has = builder->kept.top_fd >= 0 &&
		   faccessat(builder->kept.top_fd, place, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	for (size_t i = 0; i < sealed->count && !has; i++) {
		(void)snprintf(place, sizeof(place), "%s/%s/%s", strrchr(sealed->items[i], '/') + 1,
			       name, below);
		has = faccessat(builder->kept.layers_fd, place, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return has;
}

/* Whether the unit at PATH has something in the top or the layer at DIR_FD, in its directory BELOW. */
static bool has_changes(int dir_fd, const char *below, const char *path)
{
	char name[PATH_HASH_SIZE], place[PATH_MAX];
	struct dirent *entry;

	path_hash('u', path, name);
	(void)snprintf(place, sizeof(place), "%s/%s", below, name);
	owned(dir_close) DIR *dir = dir_open(dir_fd, place);

	return dir_next(dir, &entry) > 0;
}

bool kept_has_entry(const struct root_builder *builder, const char *path, bool is_directory)
{
	const struct strv *sealed = &builder->spec->layers;
	bool has = kept_has(builder, "/", path) || (!is_directory && builder->kept.top_fd >= 0 &&
						    has_changes(builder->kept.top_fd, ".", path));

	for (size_t i = 0; i < sealed->count && !has && !is_directory; i++)
		has = has_changes(builder->kept.layers_fd, strrchr(sealed->items[i], '/') + 1,
				  path);
	return has;
}

static bool is_in_unit(const struct root_builder *builder, const char *path)
{
	const struct strv *units = &builder->parts->unit_paths;

	for (size_t i = 0; i < units->count; i++) {
		if (units->items[i][0] && path_is_within(path, units->items[i]))
			return true;
	}
	return false;
}

static void find_gone(const struct root_builder *builder, int dir_fd, const char *below,
		      const char *within, struct strv *ret_paths)
{
	owned(str_done) struct str units = STR_INIT;
	owned(free_ptr) char *file = xasprintf("%s/units", below);
	struct error ignored;
	struct stat st;

	if (file_read(dir_fd, file, UNITS_MAX, &units, &ignored) < 0)
		return;
	for (const char *at = str_cstr(&units), *end = at + units.len; at < end;
	     at += strlen(at) + 1) {
		const char *path = strchr(at, ' ');

		path = path ? path + 1 : at;
		if (path_is_within(path, within) && strcmp(path, within) != 0 &&
		    (lstat(path, &st) < 0 ? errno == ENOENT : !S_ISDIR(st.st_mode)) &&
		    !is_in_unit(builder, path) && !strv_has(ret_paths, path) &&
		    has_changes(dir_fd, below, path) && mask_shows(builder->spec, path) &&
		    !kept_has(builder, "/", path))
			strv_add(ret_paths, path);
	}
}

void kept_find_gone(const struct root_builder *builder, const char *within, struct strv *ret_paths)
{
	const struct strv *sealed = &builder->spec->layers;

	if (builder->kept.top_fd < 0)
		return;
	find_gone(builder, builder->kept.top_fd, ".", within, ret_paths);
	for (size_t i = 0; i < sealed->count; i++)
		find_gone(builder, builder->kept.layers_fd, strrchr(sealed->items[i], '/') + 1,
			  within, ret_paths);
	strv_sort(ret_paths);
}

int kept_add_gone(struct root_builder *builder, const char *path, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (mkdirat(builder->parts->upper_fd, "gone", 0755) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "skeleton of %s", path);
	fd = openat(builder->parts->upper_fd, "gone", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "skeleton of %s", path);
	builder->source_fd = fd;
	int status = unit_add_overlay(builder, path, path, false, err);

	builder->source_fd = -1;
	return status;
}

/* Where a mount of something else than its own place is kept; no path of the host, so no change of one. */
static void name_unit(const struct kept_unit *unit, struct names *ret_names)
{
	char place[PATH_MAX + 8];

	(void)snprintf(place, sizeof(place), "%s%s",
		       strcmp(unit->source, unit->target) == 0 ? "" : "at:", unit->target);
	path_hash('u', place, ret_names->upper);
	path_hash('w', place, ret_names->work);
	path_hash('n', place, ret_names->new);
}

static bool has_record(const struct str *units, const char *name)
{
	const char *at = str_cstr(units);
	const char *end = at + units->len;

	for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1) {
		if (str_starts(at, name + 2))
			return true;
	}
	return false;
}

/* One record: the name's digits, a blank, the path, NUL. A NUL in front ends what a killed start may have begun. */
static int add_record(int top_fd, const char *name, const char *path, struct error *err)
{
	char record[PATH_MAX + PATH_HASH_SIZE];
	int len = snprintf(record, sizeof(record), "%c%s %s", '\0', name + 2, path);
	owned(fd_close) int fd = openat(
		top_fd, "units", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || len <= 0 || (size_t)len >= sizeof(record) ||
	    write(fd, record, (size_t)len + 1) != len + 1)
		return error_errno(err, ERROR_HOST, "units of the writable layer");
	return 0;
}

/* The topmost thing below the new top: the merged root will show the top's own attributes. */
static void find_below(const struct spec *spec, const struct kept_unit *unit, const char *name,
		       char ret_path[static PATH_MAX])
{
	struct stat st;

	for (size_t i = 0; i < spec->layers.count; i++) {
		int len = snprintf(ret_path, PATH_MAX, "%s/%s", spec->layers.items[i], name);

		if (len > 0 && len < PATH_MAX && lstat(ret_path, &st) == 0)
			return;
	}
	(void)snprintf(ret_path, PATH_MAX, "%s", unit->source);
}

/* It gets its name when it is complete: a start that was cut short leaves no top with wrong attributes. */
static int make_top(struct root_builder *builder, const struct kept_unit *unit,
		    const struct names *names, struct error *err)
{
	/* On disk every id is the host's own. */
	static const struct spec_ids as_is = { .count = UINT32_MAX };
	int top_fd = builder->kept.top_fd;
	char below[PATH_MAX];

	(void)tree_remove(top_fd, names->new);
	if (mkdirat(top_fd, names->new, 0755) < 0)
		return error_errno(err, ERROR_HOST, "writable layer of %s", unit->source);
	owned(fd_close) int fd = openat(top_fd, names->new, DIRECTORY | O_CLOEXEC);
	struct mask_layer layer = { fd, unit->source, builder->userns_fd < 0,
				    builder->userns_fd < 0 ? NULL : &as_is };

	/* A store below a directory with the setgid bit hands that bit on. */
	if (fd < 0 || fchmod(fd, 0755) < 0)
		return error_errno(err, ERROR_HOST, "writable layer of %s", unit->source);
	find_below(builder->spec, unit, names->upper, below);
	if (mask_copy_metadata(&layer, below, ".", err) < 0)
		return -1;
	if (renameat(top_fd, names->new, top_fd, names->upper) < 0)
		return error_errno(err, ERROR_HOST, "writable layer of %s", unit->source);
	return 0;
}

/*
 * Scratch space of an earlier mount is marked: a volatile overlay that may have lost something. We know, and start anew. A
 * sandbox that was killed together with its janitor may still be ending, and writes there until then.
 */
static int make_work(int top_fd, const char *name, struct error *err)
{
	struct timespec pause = { .tv_nsec = 2000000 };

	for (unsigned tries = 0; tries < WORK_TRIES; tries++) {
		if (mkdirat(top_fd, name, 0700) == 0)
			return 0;
		if (errno != EEXIST || (tree_remove(top_fd, name) < 0 && errno != ENOTEMPTY))
			break;
		if (tries > 0)
			(void)nanosleep(&pause, NULL);
	}
	return error_errno(err, ERROR_HOST, "scratch space of a writable layer");
}

static int add_sealed(struct root_builder *builder, const char *name, struct overlay_layers *layers,
		      struct error *err)
{
	const struct strv *sealed = &builder->spec->layers;
	char path[PATH_MAX];

	for (size_t i = 0; i < sealed->count; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", strrchr(sealed->items[i], '/') + 1,
			       name);
		int fd = openat(builder->kept.layers_fd, path, DIRECTORY | O_CLOEXEC);

		/* Units come and go with the mounts of the host. */
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			return error_errno(err, ERROR_HOST, "layer %s", sealed->items[i]);
		if (layers->lower_count == SPEC_LAYERS_MAX) {
			close(fd);
			return error_set(err, ERROR_INTERNAL, "more than %d layers",
					 SPEC_LAYERS_MAX);
		}
		layers->lowers[layers->lower_count++] = fd;
	}
	return 0;
}

int kept_add(struct root_builder *builder, const struct kept_unit *unit,
	     struct overlay_layers *layers, struct error *err)
{
	int top_fd = builder->kept.top_fd, mapped_fd = builder->kept.mapped_fd;
	struct names names;
	struct stat st;

	name_unit(unit, &names);
	builder->kept.is_new = fstatat(top_fd, names.upper, &st, AT_SYMLINK_NOFOLLOW) < 0;
	if (builder->kept.is_new && make_top(builder, unit, &names, err) < 0)
		return -1;
	if (make_work(top_fd, names.work, err) < 0)
		return -1;
	layers->owner = builder->userns_fd >= 0 ? &builder->spec->ids : NULL;
	layers->upper = openat(mapped_fd, names.upper, DIRECTORY | O_CLOEXEC);
	layers->work = openat(mapped_fd, names.work, DIRECTORY | O_CLOEXEC);
	if (layers->upper < 0 || layers->work < 0)
		return error_errno(err, ERROR_HOST, "writable layer of %s", unit->source);
	return add_sealed(builder, names.upper, layers, err);
}

int kept_settle(struct root_builder *builder, const struct kept_unit *unit, bool is_mounted,
		struct error *err)
{
	int top_fd = builder->kept.top_fd;
	struct names names;

	if (top_fd < 0)
		return 0;
	name_unit(unit, &names);
	if (!is_mounted) {
		(void)tree_remove(top_fd, names.work);
		if (builder->kept.is_new)
			(void)unlinkat(top_fd, names.upper, AT_REMOVEDIR);
		return 0;
	}
	if (strcmp(unit->source, unit->target) != 0 ||
	    has_record(&builder->kept.units, names.upper))
		return 0;
	return add_record(top_fd, names.upper, unit->source, err);
}
