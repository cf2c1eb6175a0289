/* SPDX-License-Identifier: Apache-2.0 */
/* Folding what a sandbox left in a tool's directories into a new layer of that tool's cache. */
#include "base/text/clean_path.h"
#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/disk/sys.h"
#include "workspace/store/cache_parts.h"
#include "workspace/store/flatten_parts.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/layer_commit.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Of one cache. */
#define FILES_MAX UINT64_C(400000)
#define BYTES_MAX (UINT64_C(4) << 30)
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A fold under way. */
struct folding {
	const struct cache_fold *fold;
	int *fds; /* of the tops, and of the layer below them */
	size_t count;
	int base_fd;
	int draft_fd;
	struct layer_units units; /* of all of them */
	uint64_t files, bytes;
	const char *unit_path; /* the one that is folded now */
	char *moved;	       /* as of flat_only */
};

static void folding_done(struct folding *folding)
{
	/* The others are the caller's. */
	fd_close(&folding->base_fd);
	free(folding->fds);
	fd_close(&folding->draft_fd);
	layer_units_done(&folding->units);
	free(folding->moved);
}

/* A path of the unit as one of the host. */
static bool skips(const char *path, void *cookie)
{
	const struct folding *folding = cookie;
	owned(free_ptr) char *whole =
		xasprintf("%s%s", folding->unit_path[1] ? folding->unit_path : "", path);

	return folding->fold->skips(whole, folding->fold->cookie);
}

/* The directories as paths of the unit; one that holds all of the unit is "". */
static void paths_in(const struct strv *dirs, const char *unit_path, struct strv *ret_paths)
{
	for (size_t i = 0; i < dirs->count; i++) {
		const char *dir = dirs->items[i];

		if (path_is_within(unit_path, dir))
			strv_add(ret_paths, "");
		else if (path_is_within(dir, unit_path))
			strv_add(ret_paths, dir + (unit_path[1] ? strlen(unit_path) : 0));
	}
}

static int open_roots(const struct folding *folding, const char *name, int *fds, bool *ret_any)
{
	*ret_any = false;
	for (size_t i = 0; i < folding->count; i++) {
		fds[i] = openat(folding->fds[i], name, DIRECTORY);
		*ret_any |= fds[i] >= 0;
		if (fds[i] < 0 && errno != ENOENT)
			return -1;
	}
	return 0;
}

static int fold_roots(struct folding *folding, const char *name, int *fds, struct strv *paths)
{
	struct flat_only only = { .paths = paths,
				  .skips = skips,
				  .cookie = folding,
				  .unit_path = folding->unit_path,
				  .copies_first = folding->fold->is_live,
				  .files_max = FILES_MAX - folding->files,
				  .bytes_max = BYTES_MAX - folding->bytes };
	const struct flat_unit unit = { .root_fds = fds,
					.user_xattr = folding->fold->user_xattr,
					.count = folding->count,
					.only = &only };
	owned(fd_close) int out_fd = -1;

	if (mkdirat(folding->draft_fd, name, 0700) < 0)
		return -1;
	out_fd = openat(folding->draft_fd, name, DIRECTORY);
	if (out_fd < 0)
		return -1;
	if (flatten_unit(&unit, out_fd) < 0) {
		folding->moved = only.moved;
		return -1;
	}
	folding->files += only.files;
	folding->bytes += only.bytes;
	return 0;
}

static int fold_unit(struct folding *folding, const struct layer_unit *unit)
{
	owned(strv_done) struct strv paths = STRV_INIT;
	int *fds = NULL, result = 0;
	bool is_any = false;

	paths_in(folding->fold->dirs, unit->path, &paths);
	if (paths.count == 0)
		return 0;
	fds = xmalloc(folding->count * sizeof(*fds));
	for (size_t i = 0; i < folding->count; i++)
		fds[i] = -1;
	folding->unit_path = unit->path;
	result = open_roots(folding, unit->name, fds, &is_any);
	if (result == 0 && is_any)
		result = fold_roots(folding, unit->name, fds, &paths);
	int errnum = errno;

	for (size_t i = 0; i < folding->count; i++)
		fd_close(&fds[i]);
	free(fds);
	errno = errnum;
	return result;
}

/* The tops, and what was laid below them. */
static int open_sources(const struct store *store, struct folding *folding, struct error *err)
{
	const struct cache_fold *fold = folding->fold;

	folding->fds = xmalloc((fold->top_count + 1) * sizeof(int));
	memcpy(folding->fds, fold->top_fds, fold->top_count * sizeof(int));
	folding->count = fold->top_count;
	if (fold->base[0]) {
		if (layer_open(store, fold->base, &folding->base_fd, err) < 0)
			return -1;
		folding->fds[folding->count++] = folding->base_fd;
	}
	for (size_t i = 0; i < folding->count; i++) {
		owned(layer_units_done) struct layer_units units = { 0 };

		if (layer_units_read(folding->fds[i], &units, err) < 0)
			return -1;
		for (size_t k = 0; k < units.count; k++) {
			if (layer_units_add(folding->draft_fd, units.items[k].path, err) < 0)
				return -1;
		}
	}
	return layer_units_read(folding->draft_fd, &folding->units, err);
}

static bool is_empty(int fd)
{
	owned(dir_close) DIR *dir = dir_open(fd, ".");
	struct dirent *entry;

	return dir_next(dir, &entry) <= 0;
}

/* Whether a top has anything at PATH of the unit. */
static bool has_path(const struct folding *folding, const char *unit, const char *path)
{
	owned(free_ptr) char *name = xasprintf("%s%s", unit, path);

	for (size_t i = 0; i < folding->fold->top_count; i++) {
		owned(fd_close) int fd =
			sys_open_beneath(folding->fds[i], name, O_RDONLY | O_DIRECTORY);

		if (fd >= 0 && (*path || !is_empty(fd)))
			return true;
	}
	return false;
}

/* A run that wrote to none of the directories leaves the cache as it is. */
static bool is_touched(const struct folding *folding)
{
	for (size_t i = 0; i < folding->units.count; i++) {
		const struct layer_unit *unit = &folding->units.items[i];
		owned(strv_done) struct strv paths = STRV_INIT;

		paths_in(folding->fold->dirs, unit->path, &paths);
		for (size_t k = 0; k < paths.count; k++) {
			if (has_path(folding, unit->name, paths.items[k]))
				return true;
		}
	}
	return false;
}

static int fill(const struct store *store, struct folding *folding, const char *draft,
		struct error *err)
{
	folding->draft_fd = openat(store->fd, draft, DIRECTORY);
	if (folding->draft_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open a layer");
	if (open_sources(store, folding, err) < 0)
		return -1;
	if (!is_touched(folding))
		return 0;
	for (size_t i = 0; i < folding->units.count; i++) {
		if (fold_unit(folding, &folding->units.items[i]) == 0)
			continue;
		if (errno == EFBIG)
			return error_set(err, ERROR_DENIED,
					 "it has grown beyond %llu GiB or %llu files",
					 (unsigned long long)(BYTES_MAX >> 30),
					 (unsigned long long)FILES_MAX);
		if (folding->moved)
			return error_set(
				err, ERROR_DENIED,
				"'%s%s' is a directory of the host that was moved or renamed, "
				"which a cache cannot hold: copy it instead",
				folding->unit_path[1] ? folding->unit_path : "", folding->moved);
		return error_errno(err, ERROR_HOST, "%s", folding->units.items[i].path);
	}
	return 0;
}

static int describe(bool user_xattr, struct layer_meta *ret_meta, struct error *err)
{
	*ret_meta = (struct layer_meta){ .sealed_ms = clock_epoch_ms(),
					 .depth = 1,
					 .user_xattr = user_xattr };
	if (id_run(ret_meta->id, err) < 0 || store_boot_id(ret_meta->boot_id, err) < 0)
		return -1;
	memcpy(ret_meta->sandbox, ret_meta->id, sizeof(ret_meta->sandbox));
	return 0;
}

/* Makes layer META. 1 when it would hold nothing. */
static int make_layer(const struct store *store, struct folding *folding,
		      const struct layer_meta *meta, struct error *err)
{
	char draft[LAYER_PATH_SIZE], place[LAYER_PATH_SIZE];
	struct error ignored;
	int status;

	(void)snprintf(draft, sizeof(draft), "layers/.new-%s", meta->id);
	(void)snprintf(place, sizeof(place), "layers/%s", meta->id);
	if (mkdirat(store->fd, draft, 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make a layer");
	status = fill(store, folding, draft, err);
	if (status == 0 && folding->files == 0)
		status = 1;
	if (status == 0 && renameat(store->fd, draft, store->fd, place) < 0)
		status = error_errno(err, ERROR_HOST, "cannot name a layer");
	if (status == 0)
		return layer_commit_write_layer(store, meta, err);
	(void)store_trash(store, store->fd, draft, &ignored);
	return status;
}

static int write_pointer(int dir_fd, const struct folding *folding, const char *layer,
			 struct error *err)
{
	const struct cache_fold *fold = folding->fold;
	owned(str_done) struct str text = STR_INIT;

	fields_begin(&text, CACHE_KIND);
	fields_put(&text, "layer", layer);
	fields_put(&text, "workspace", fold->workspace);
	fields_put(&text, "tool", fold->tool);
	fields_put_number(&text, "files", folding->files);
	fields_put_number(&text, "bytes", folding->bytes);
	fields_end(&text);
	return store_replace(dir_fd, fold->name, text.data, text.len, false, err);
}

/* Which layer the cache is now; "" for none. */
static void current(const struct store *store, const char *name,
		    char ret_layer[static LAYER_ID_SIZE])
{
	struct cache_record record;

	ret_layer[0] = '\0';
	if (!cache_find(store, name, &record))
		return;
	memcpy(ret_layer, record.layer, LAYER_ID_SIZE);
	cache_record_done(&record);
}

/* Moves the pointer to LAYER, unless it has moved meanwhile: then 1, and the layer goes. */
static int move_pointer(const struct store *store, const struct folding *folding, const char *layer,
			struct error *err)
{
	owned(fd_close) int dir_fd = -1, lock_fd = -1;
	char now[LAYER_ID_SIZE], place[LAYER_PATH_SIZE];
	struct error ignored;
	int status;

	if (cache_open(store, &dir_fd, err) < 0 ||
	    store_open_lock_file(dir_fd, "lock", &lock_fd, err) < 0)
		return -1;
	if (store_flock(lock_fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "cannot lock '" CACHES "'");
	current(store, folding->fold->name, now);
	status = strcmp(now, folding->fold->expected) != 0
			 ? 1
			 : write_pointer(dir_fd, folding, layer, err);
	if (status == 0) {
		store_ask_collect(store);
		return 0;
	}
	(void)snprintf(place, sizeof(place), "layers/%s", layer);
	(void)store_trash(store, store->fd, place, &ignored);
	return status;
}

int cache_fold(const struct store *store, const struct cache_fold *fold,
	       char ret_layer[static LAYER_ID_SIZE], struct error *err)
{
	owned(folding_done) struct folding folding = { .fold = fold,
						       .base_fd = -1,
						       .draft_fd = -1 };
	char now[LAYER_ID_SIZE];
	struct layer_meta meta;
	int status;

	current(store, fold->name, now);
	if (strcmp(now, fold->expected) != 0)
		return 1;
	if (describe(fold->user_xattr, &meta, err) < 0)
		return -1;
	memcpy(ret_layer, meta.id, LAYER_ID_SIZE);
	status = make_layer(store, &folding, &meta, err);
	return status != 0 ? status : move_pointer(store, &folding, meta.id, err);
}
