/* SPDX-License-Identifier: Apache-2.0 */
/* Warm caches: pointers to layers, listed, used and swept. */
#include "workspace/store/cache.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/store/cache_parts.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP "top-"
#define LEFT ".left-"
#define UNUSED_MS (UINT64_C(30) * 24 * 3600 * 1000)
#define TOTAL_BYTES (UINT64_C(16) << 30)

void cache_record_done(struct cache_record *record)
{
	free(record->workspace);
	free(record->tool);
	*record = (struct cache_record){ 0 };
}

int cache_open(const struct store *store, int *ret_fd, struct error *err)
{
	if (mkdirat(store->fd, CACHES, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make '" CACHES "'");
	*ret_fd = openat(store->fd, CACHES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, CACHES) : 0;
}

/* What the file says, whatever became of the layer. */
static bool read_pointer(int dir_fd, const char *name, struct cache_record *ret_record)
{
	owned(fields_done) struct fields fields = { 0 };
	struct cache_record record = { .used_ms = 0 };
	struct error ignored;
	struct stat st;

	if (strlen(name) >= sizeof(record.name) ||
	    fields_read(dir_fd, name, CACHE_KIND, &fields, &ignored) < 0 ||
	    !fields_copy(&fields, "layer", record.layer, sizeof(record.layer)) ||
	    fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	(void)snprintf(record.name, sizeof(record.name), "%s", name);
	record.workspace = xstrdup(fields_get(&fields, "workspace"));
	record.tool = xstrdup(fields_get(&fields, "tool"));
	record.files = fields_number(&fields, "files");
	record.bytes = fields_number(&fields, "bytes");
	record.used_ms = clock_ns_of(&st.st_mtim) / 1000000;
	*ret_record = record;
	return true;
}

bool cache_find(const struct store *store, const char *name, struct cache_record *ret_record)
{
	owned(fd_close) int dir_fd =
		openat(store->fd, CACHES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct layer_meta meta;
	struct error ignored;
	char boot_id[37];

	if (dir_fd < 0 || !read_pointer(dir_fd, name, ret_record))
		return false;
	if (layer_meta_read(store, ret_record->layer, &meta, &ignored) == 0 &&
	    store_boot_id(boot_id, &ignored) == 0 && !layer_is_torn(&meta, boot_id))
		return true;
	cache_record_done(ret_record);
	return false;
}

bool cache_use(const struct store *store, const char *name, char ret_layer[static LAYER_ID_SIZE])
{
	owned(free_ptr) char *path = xasprintf(CACHES "/%s", name);
	struct cache_record record;

	if (!cache_find(store, name, &record))
		return false;
	memcpy(ret_layer, record.layer, LAYER_ID_SIZE);
	cache_record_done(&record);
	/* Its time of change is when it was last of use. */
	(void)utimensat(store->fd, path, NULL, AT_SYMLINK_NOFOLLOW);
	return true;
}

int cache_top_make(const struct store *store, const char *run_id, char **ret_path, int *ret_fd,
		   struct error *err)
{
	owned(free_ptr) char *name = xasprintf(TOP "%s", run_id);
	owned(fd_close) int dir_fd = -1, fd = -1;

	if (cache_open(store, &dir_fd, err) < 0)
		return -1;
	/* The store is held, so that no sweep sees it before it is locked. */
	if (mkdirat(dir_fd, name, 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make '%s'", name);
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || store_flock(fd, LOCK_SH) < 0)
		return error_errno(err, ERROR_HOST, "cannot hold '%s'", name);
	*ret_path = xasprintf("%s/" CACHES "/%s", store->path, name);
	*ret_fd = fd_take(&fd);
	return 0;
}

bool cache_is_laid(int dir_fd)
{
	return faccessat(dir_fd, CACHE_LAID_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool cache_is_top(const char *path, const char *run_id)
{
	owned(free_ptr) char *end = xasprintf("/" CACHES "/" TOP "%s", run_id);

	return str_ends(path, end);
}

char *cache_top_leave(const struct store *store, const char *run_id)
{
	owned(free_ptr) char *from = xasprintf(CACHES "/" TOP "%s", run_id);
	owned(free_ptr) char *to = xasprintf(CACHES "/" LEFT "%s", run_id);

	return renameat(store->fd, from, store->fd, to) < 0 ? NULL
							    : xasprintf("%s/%s", store->path, to);
}

void cache_top_remove(const struct store *store, const char *run_id)
{
	owned(free_ptr) char *path = xasprintf(CACHES "/" TOP "%s", run_id);
	struct error ignored;

	/* A directory that is shut cannot be moved. */
	(void)!fchmodat(store->fd, path, 0700, 0);
	(void)store_trash(store, store->fd, path, &ignored);
	store_start_worker(store);
}

static int compare_used(const void *a, const void *b)
{
	const struct cache_record *left = a, *right = b;

	return left->used_ms < right->used_ms ? 1 : left->used_ms > right->used_ms ? -1 : 0;
}

int cache_list(const struct store *store, struct cache_record **ret_records, size_t *ret_count,
	       struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, CACHES);
	struct cache_record *records = NULL, record;
	struct dirent *entry;
	size_t count = 0;
	int more = 0;

	if (!dir && errno != ENOENT)
		return error_errno(err, ERROR_HOST, CACHES);
	while (dir && (more = dir_next(dir, &entry)) > 0) {
		if (entry->d_name[0] == '.' || str_starts(entry->d_name, TOP) ||
		    !read_pointer(dirfd(dir), entry->d_name, &record))
			continue;
		records = xrealloc(records, count + 1, sizeof(*records));
		records[count++] = record;
	}
	if (count > 0)
		qsort(records, count, sizeof(*records), compare_used);
	*ret_records = records;
	*ret_count = count;
	return 0;
}

void cache_records_free(struct cache_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cache_record_done(&records[i]);
	free(records);
}

/* Whether no run holds top NAME: then it is locked until *ret_fd is closed. */
static bool claim_top(int dir_fd, const char *name, int *ret_fd)
{
	if (!str_starts(name, TOP))
		return false;
	/* The owner's bits alone: the area of a root caller's run is open to its command. */
	if (faccessat(dir_fd, name, R_OK | W_OK | X_OK, AT_EACCESS) < 0)
		(void)!fchmodat(dir_fd, name, 0700, 0);
	*ret_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd >= 0 && store_flock(*ret_fd, LOCK_EX | LOCK_NB) == 0;
}

void cache_sweep_tops(const struct store *store, struct strv *removed)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, CACHES);
	struct dirent *entry;
	struct error ignored;

	while (dir_next(dir, &entry) > 0) {
		owned(fd_close) int fd = -1;

		if (claim_top(dirfd(dir), entry->d_name, &fd) &&
		    store_trash(store, dirfd(dir), entry->d_name, &ignored) == 0)
			strv_addf(removed, CACHES "/%s", entry->d_name);
	}
}

void cache_collect_tops(const struct store *store)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, CACHES);
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		owned(fd_close) int fd = -1;

		if (!claim_top(dirfd(dir), entry->d_name, &fd))
			continue;
		fd_close(&fd);
		store_ask_collect(store);
		store_start_worker(store);
		return;
	}
}

void cache_sweep(const struct store *store, bool all, struct strv *removed)
{
	uint64_t now_ms = clock_epoch_ms(), total = 0;
	struct cache_record *records = NULL;
	struct error ignored;
	size_t count = 0;

	if (cache_list(store, &records, &count, &ignored) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		owned(free_ptr) char *path = xasprintf(CACHES "/%s", records[i].name);

		total += records[i].bytes;
		if (!all && total <= TOTAL_BYTES && records[i].used_ms + UNUSED_MS > now_ms)
			continue;
		if (unlinkat(store->fd, path, 0) == 0)
			strv_addf(removed, "%s of %s", records[i].tool, records[i].workspace);
	}
	cache_records_free(records, count);
}
