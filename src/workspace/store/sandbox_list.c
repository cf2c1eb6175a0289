/* SPDX-License-Identifier: Apache-2.0 */
/* All sandboxes of a store: listed, removed, swept when their time is over, and how much room one takes. */
#include "workspace/store/sandbox.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/layer_commit.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_RETRY_MS 1000u

/* Reads only its expiry. False when that cannot be read. */
static bool read_expiry(int list_fd, const char *name, uint64_t *ret_ms)
{
	struct error err = { .code = ERROR_NONE };
	struct sandbox sandbox = { .dir_fd = -1, .lock_fd = -1, .freeze_fd = -1 };
	bool is_read;

	sandbox.dir_fd = openat(list_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	is_read = sandbox.dir_fd >= 0 && sandbox_read_head(&sandbox, &err) == 0;
	*ret_ms = sandbox.expires_ms;
	fd_close(&sandbox.dir_fd);
	return is_read;
}

int sandbox_list(const struct store *store, struct strv *ret_names, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, "sbx");
	uint64_t now = clock_epoch_ms(), expires_ms;
	struct dirent *entry;
	int more;

	while ((more = dir_next(dir, &entry)) > 0) {
		/* One that is damaged must not hide the others, nor pass for one of them. */
		if (sandbox_name_is_valid(entry->d_name) &&
		    read_expiry(dirfd(dir), entry->d_name, &expires_ms) &&
		    (expires_ms == 0 || expires_ms > now))
			strv_add(ret_names, entry->d_name);
	}
	if (more < 0)
		error_errno(err, ERROR_HOST, "cannot list the sandboxes");
	strv_sort(ret_names);
	return more;
}

static int move_to_trash(const struct store *store, const char *name, struct error *err)
{
	owned(free_ptr) char *place = xasprintf("sbx/%s", name);

	if (store_trash(store, store->fd, place, err) < 0)
		return -1;
	/* Layers only it had are garbage now. */
	store_ask_collect(store);
	return 0;
}

int sandbox_remove(struct sandbox *sandbox, struct error *err)
{
	if (move_to_trash(sandbox->store, sandbox->name, err) < 0)
		return -1;
	store_start_worker(sandbox->store);
	return 0;
}

int sandbox_discard(const struct store *store, const char *name, struct error *err)
{
	struct stat st;
	owned(free_ptr) char *place = NULL;

	if (sandbox_check_name(name, err) < 0)
		return -1;
	place = xasprintf("sbx/%s", name);
	if (fstatat(store->fd, place, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return sandbox_not_found(store->fd, "sbx", "sandbox", name, err);
	if (move_to_trash(store, name, err) < 0)
		return -1;
	store_start_worker(store);
	return 0;
}

/* Whether it is not in use: then it is locked until *ret_fd is closed. */
static bool claim(int list_fd, const char *name, int *ret_fd)
{
	owned(free_ptr) char *lock = xasprintf("%s/lock", name);
	struct error err = { .code = ERROR_NONE };
	owned(fd_close) int fd = -1;

	if (store_open_lock_file(list_fd, lock, &fd, &err) < 0 ||
	    store_flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	*ret_fd = fd_take(&fd);
	return true;
}

struct sweep {
	const struct store *store;
	struct strv *removed; /* may be NULL */
	uint64_t now_ms, next_ms;
	bool is_useful;
};

static void sweep_one(struct sweep *sweep, int list_fd, const char *name)
{
	struct error err = { .code = ERROR_NONE };
	owned(fd_close) int lock_fd = -1;
	uint64_t expires_ms;

	if (!read_expiry(list_fd, name, &expires_ms) || expires_ms == 0)
		return;
	if (expires_ms > sweep->now_ms) {
		if (expires_ms < sweep->next_ms)
			sweep->next_ms = expires_ms;
		return;
	}
	/* Its time may have been moved before it was ours. */
	if (claim(list_fd, name, &lock_fd) && read_expiry(list_fd, name, &expires_ms) &&
	    expires_ms <= sweep->now_ms && move_to_trash(sweep->store, name, &err) == 0) {
		sweep->is_useful = true;
		if (sweep->removed)
			strv_add(sweep->removed, name);
		return;
	}
	/* Its user ends soon. */
	if (sweep->now_ms + BUSY_RETRY_MS < sweep->next_ms)
		sweep->next_ms = sweep->now_ms + BUSY_RETRY_MS;
}

void sandbox_sweep_all(const struct store *store, struct strv *removed)
{
	struct sweep sweep = { .store = store,
			       .removed = removed,
			       .now_ms = clock_epoch_ms(),
			       .next_ms = EXPIRY_NEVER_MS };
	struct error err = { .code = ERROR_NONE };
	owned(fd_close) int fd = -1;
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;
	int more;

	if (store_open_lock_file(store->fd, EXPIRY_FILE, &fd, &err) < 0 ||
	    store_flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	dir = dir_open(store->fd, "sbx");
	while ((more = dir_next(dir, &entry)) > 0) {
		if (sandbox_name_is_valid(entry->d_name))
			sweep_one(&sweep, dirfd(dir), entry->d_name);
	}
	/* What was not seen may end at any time. */
	if (more == 0)
		(void)store_set_expiry(fd, sweep.next_ms, &err);
	if (sweep.is_useful)
		store_start_worker(store);
}

void sandbox_sweep(const struct store *store, struct strv *removed)
{
	uint64_t next_ms = store_next_expiry_ms(store);

	if (next_ms > 0 && next_ms <= clock_epoch_ms())
		sandbox_sweep_all(store, removed);
}

bool sandbox_is_torn(const struct sandbox *sandbox, const char *boot_id)
{
	struct error err = { .code = ERROR_NONE };
	bool is_dirty;

	if (!sandbox->upper_boot_id[0] || strcmp(sandbox->upper_boot_id, boot_id) == 0)
		return false;
	return layer_commit_top_is_dirty(sandbox, &is_dirty, &err) < 0 || is_dirty;
}
