/* SPDX-License-Identifier: Apache-2.0 */
/* Housekeeping of what is kept on purpose. */
#include "app/sandbox/gc_kept.h"

#include "base/core/own.h"
#include "app/sandbox/gc_rows.h"
#include "app/sandbox/sandbox.h"
#include "app/sandbox/service_copy.h"
#include "host/host.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"
#include "workspace/store/cache.h"
#include "workspace/txn/txn_orphan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Those that stay are listed: what they hold is the only thing that grows by itself. */
static int clean_caches(struct store *store, bool all, struct value *answer, struct error *err)
{
	owned(strv_done) struct strv removed = STRV_INIT;
	struct cache_record *records = NULL;
	size_t count = 0;

	cache_sweep(store, all, &removed);
	gc_add_removed(&removed, "cache",
		       all ? "as asked for" : "unused for long, or beyond what is kept", answer);
	if (cache_list(store, &records, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct cache_record *record = &records[i];
		owned(free_ptr) char *path = xasprintf("%s of %s", record->tool, record->workspace);
		owned(free_ptr) char *detail = xasprintf(
			"kept: %llu files, %llu bytes; gc --caches removes it",
			(unsigned long long)record->files, (unsigned long long)record->bytes);

		gc_add_row(answer, "cache", path, detail);
	}
	cache_records_free(records, count);
	return 0;
}

static int clean_store(struct store *store, bool caches, struct value *answer, struct error *err)
{
	owned(strv_done) struct strv expired = STRV_INIT, promotions = STRV_INIT,
				     layers = STRV_INIT;

	sandbox_sweep(store, &expired);
	gc_add_removed(&expired, "sandbox", "its time was over", answer);
	promotion_trim(store, &promotions);
	gc_add_removed(&promotions, "promotion", "older than those that can be undone", answer);
	if (clean_caches(store, caches, answer, err) < 0)
		return -1;
	service_copies_sweep(store);
	if (store_gc(store, &layers, err) < 0 && err->code != ERROR_CONFLICT)
		return -1;
	gc_add_removed(&layers, "layer", "nothing refers to it", answer);
	store_empty_trash(store, false);
	return 0;
}

/* The record lies in the store, whatever became of the promotion. A store that cannot be read claims everything. */
static bool is_claimed(const char *id, void *cookie)
{
	const struct store *store = cookie;
	owned(fd_close) int fd = openat(store->fd, "promotions", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || faccessat(fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* Looking at a mount that a server answers for may take for ever. */
static bool is_local(const struct host_mount *mount)
{
	return strcmp(mount->fstype, "tmpfs") == 0 || (mount->source && mount->source[0] == '/');
}

static void sweep_mount(const struct host *host, const char *point, struct store *store,
			struct txn_orphans *orphans)
{
	const char *top = strcmp(point, "/") == 0 ? "" : point;
	owned(free_ptr) char *users = xasprintf("%s/.aisbx-txn", top);
	owned(free_ptr) char *roots = xasprintf("%s/.aisbx", top);

	if (host->uid == 0)
		txn_sweep_orphans(roots, is_claimed, store, orphans);
	txn_sweep_orphans(users, is_claimed, store, orphans);
}

/* What promotions of a store that is lost left at the tops of mounts. */
static int clean_orphans(struct store *store, struct value *answer, struct error *err)
{
	owned(host_done) struct host host = { 0 };
	struct txn_orphans orphans = { STRV_INIT, STRV_INIT, STRV_INIT };

	if (host_read(&host, err) < 0)
		return -1;
	for (size_t i = 0; i < host.mount_count; i++) {
		const struct host_mount *mount = &host.mounts[i];

		if (is_local(mount) || strcmp(mount->point, "/") == 0)
			sweep_mount(&host, mount->point, store, &orphans);
	}
	gc_add_removed(&orphans.removed, "orphan", "no store knows it, and nothing in it is needed",
		       answer);
	for (size_t i = 0; i < orphans.left.count; i++) {
		const char *needs_it = orphans.stores.items[i];
		owned(free_ptr) char *detail =
			xasprintf("left alone: %s%s may need it; if none does, delete it by hand",
				  *needs_it ? "the store " : "another store", needs_it);

		gc_add_row(answer, "orphan", orphans.left.items[i], detail);
	}
	strv_done(&orphans.removed);
	strv_done(&orphans.left);
	strv_done(&orphans.stores);
	return 0;
}

int app_gc_kept(bool caches, struct value *answer, struct error *err)
{
	struct store store;
	int status;

	if (app_store(&store, err) < 0)
		return -1;
	status = clean_store(&store, caches, answer, err);
	if (status == 0)
		status = clean_orphans(&store, answer, err);
	store_close(&store);
	return status;
}
