/* SPDX-License-Identifier: Apache-2.0 */
/* Making layers last: one sync of the filesystem, then a mark on each. */
#include "workspace/store/snapshot.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/tree.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/store_parts.h"
#include "workspace/store/unsynced.h"

#include <string.h>
#include <unistd.h>

#define UNFINISHED_MS 60000u

/* The overlay's scratch came along when the top was moved; it is of no further use. */
static void drop_scratch(const struct store *store, const char *lid)
{
	struct error err = { .code = ERROR_NONE };
	owned(fd_close) int fd = -1;
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;

	if (layer_open(store, lid, &fd, &err) < 0)
		return;
	dir = dir_open(fd, ".");
	while (dir_next(dir, &entry) > 0) {
		if (str_starts(entry->d_name, "w-"))
			(void)tree_remove(dirfd(dir), entry->d_name);
	}
}

/* Whether the layer needs no further look. One that an earlier boot left is not healed by a sync of today. */
static int mark(const struct store *store, const char *lid, const char *boot_id, bool *ret_done,
		struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char path[LAYER_PATH_SIZE];
	struct layer_meta meta;

	*ret_done = true;
	if (layer_meta_read(store, lid, &meta, err) < 0) {
		/* Being sealed right now, or never finished: decided at the next look. */
		*ret_done = id_run_epoch_ms(lid) + UNFINISHED_MS < clock_epoch_ms();
		return 0;
	}
	drop_scratch(store, lid);
	if (meta.is_synced || strcmp(meta.boot_id, boot_id) != 0)
		return 0;
	meta.is_synced = true;
	layer_meta_format(&meta, &text);
	(void)snprintf(path, sizeof(path), "layers/%s/meta", lid);
	return store_replace(store->fd, path, text.data, text.len, false, err);
}

int snapshot_sync(const struct store *store, struct error *err)
{
	owned(strv_done) struct strv ids = STRV_INIT, done = STRV_INIT;
	char boot_id[37];

	if (!unsynced_is_any(store))
		return 0;
	if (store_boot_id(boot_id, err) < 0 || unsynced_list(store, &ids, err) < 0)
		return -1;
	/* What the ids are of was complete when they were listed. */
	if (syncfs(store->fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot sync the store");
	for (size_t i = 0; i < ids.count; i++) {
		bool is_done;

		if (mark(store, ids.items[i], boot_id, &is_done, err) < 0)
			return -1;
		if (is_done)
			strv_add(&done, ids.items[i]);
	}
	/* Now that the contents are there, that they are. */
	if (done.count > 0 && syncfs(store->fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot sync the store");
	return unsynced_remove(store, &done, err);
}
