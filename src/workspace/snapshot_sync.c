/* Making layers last: one sync of the filesystem, then each says so. */
#include "workspace/snapshot.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/own.h"
#include "workspace/layer_record.h"
#include "workspace/store_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define UNFINISHED_MS 60000u

/* Ids of layers the disk may not have yet. */
static int list_unsynced(const struct store *store, struct strv *ids, struct error *err)
{
	int fd = openat(store->fd, "unsynced", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		error_errno(err, ERROR_HOST, "cannot list unsynced layers");
		fd_close(&fd);
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (layer_id_is_valid(entry->d_name))
			strv_add(ids, entry->d_name);
	}
	closedir(dir);
	return 0;
}

/* One that an earlier boot left is not healed by a sync of today; one that is gone needs none. */
static int mark(const struct store *store, const char *lid, const char *boot_id, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char path[LAYER_PATH_SIZE];
	struct layer_meta meta;

	if (layer_meta_read(store, lid, &meta, err) < 0) {
		/* Being sealed right now, or never finished: the next look will tell. */
		if (id_run_epoch_ms(lid) + UNFINISHED_MS > clock_epoch_ms())
			return 0;
		meta = (struct layer_meta){ .is_synced = true };
	}
	(void)snprintf(path, sizeof(path), "layers/%s/meta", lid);
	if (!meta.is_synced && strcmp(meta.boot_id, boot_id) == 0) {
		meta.is_synced = true;
		layer_meta_format(&meta, &text);
		if (store_replace(store->fd, path, text.data, text.len, true, err) < 0)
			return -1;
	}
	(void)snprintf(path, sizeof(path), "unsynced/%s", lid);
	(void)unlinkat(store->fd, path, 0);
	return 0;
}

int snapshot_sync(const struct store *store, struct error *err)
{
	owned(strv_done) struct strv ids = STRV_INIT;
	char boot_id[37];

	if (store_boot_id(boot_id, err) < 0 || list_unsynced(store, &ids, err) < 0)
		return -1;
	if (ids.count == 0)
		return 0;
	/* What the ids are of was complete when they were listed. */
	if (syncfs(store->fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot sync the store");
	for (size_t i = 0; i < ids.count; i++) {
		if (mark(store, ids.items[i], boot_id, err) < 0)
			return -1;
	}
	return 0;
}
