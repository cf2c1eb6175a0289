/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can wait: deleting, collecting garbage, syncing, by a detached process.
 *
 * It is reparented to init and holds no descriptor of its caller but the store: a pipe left open would make a shell wait.
 * What takes nothing but time a child does at the lowest priority. Garbage is collected at the caller's own: all commands
 * wait for that, and on a busy machine a process of low priority gets no processor for minutes.
 * A lock marks that one is at work; it is released before the last look for work, so that a process that saw it locked may
 * rely on that look.
 */
#include "workspace/store/store_parts.h"

#include "base/process/child.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "base/file/tree.h"
#include "workspace/store/snapshot_parts.h"
#include "workspace/store/unsynced.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 64u
#define SYNC_DELAY_MS 500u /* several seals in a row share one sync */
#define COLLECT_TRIES 400u
#define COLLECT_PAUSE_MS 5u

#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_IDLE (3 << 13)

static bool has_trash(const struct store *store)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, "trash");
	struct dirent *entry;

	return dir_next(dir, &entry) > 0;
}

/* How many went. */
static size_t delete_trash(const struct store *store)
{
	owned(dir_close) DIR *dir = dir_open(store->fd, "trash");
	struct dirent *entry;
	size_t removed = 0;

	while (dir_next(dir, &entry) > 0)
		removed += tree_remove(dirfd(dir), entry->d_name) == 0;
	return removed;
}

static void pause_ms(unsigned ms)
{
	struct timespec rest = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&rest, NULL);
}

/* The process that asked for it still holds the store for a moment. */
static void collect_when_asked(const struct store *store)
{
	struct store own = { .fd = store->fd, .lock_fd = -1 };
	struct error err = { .code = ERROR_NONE };

	for (unsigned i = 0; i < COLLECT_TRIES; i++) {
		owned(strv_done) struct strv removed = STRV_INIT;

		if (faccessat(store->fd, GC_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			break;
		if (store_gc(&own, &removed, &err) == 0 || err.code != ERROR_CONFLICT)
			break;
		pause_ms(COLLECT_PAUSE_MS);
	}
	store_unlock(&own);
}

/* Whether anything was done. */
static bool delete_and_sync(const struct store *store)
{
	struct error err = { .code = ERROR_NONE };
	bool is_useful = delete_trash(store) > 0;

	if (unsynced_is_any(store)) {
		pause_ms(SYNC_DELAY_MS);
		flatten_new(store);
		is_useful |= snapshot_sync(store, &err) == 0 && !unsynced_is_any(store);
	}
	return is_useful;
}

/* A priority that was given up cannot be had again. */
static bool work_once(const struct store *store)
{
	struct error err = { .code = ERROR_NONE };

	collect_when_asked(store);
	pid_t pid = child_fork(CHILD_ALONE, 0, NULL, &err);

	if (pid == 0) {
		(void)setpriority(PRIO_PROCESS, 0, 19);
		(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
		_exit(delete_and_sync(store) ? 0 : 1);
	}
	return pid > 0 && child_wait(pid) == 0;
}

static void work(const struct store *store, int lock_fd)
{
	/* One that is older than the mark has it from now on. */
	store_spread(store->fd);
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		bool is_useful = work_once(store);

		(void)store_flock(lock_fd, LOCK_UN);
		if (!is_useful || (!has_trash(store) && !unsynced_is_any(store)))
			break;
		if (store_flock(lock_fd, LOCK_EX | LOCK_NB) < 0)
			break;
	}
}

static void detach(const struct store *store, int lock_fd)
{
	const int keep[] = { store->fd, lock_fd };

	if (process_detach(keep, 2, "aisbx-store") < 0 || chdir("/") < 0)
		_exit(1);
}

void store_start_worker(const struct store *store)
{
	struct error err = { .code = ERROR_NONE };
	owned(fd_close) int lock_fd = -1;

	if (store_open_lock_file(store->fd, "worker", &lock_fd, &err) < 0 ||
	    store_flock(lock_fd, LOCK_EX | LOCK_NB) < 0)
		return;
	if (child_fork_away(CHILD_ALONE, NULL, &err) == 0) {
		detach(store, lock_fd);
		work(store, lock_fd);
		_exit(0);
	}
}

void store_empty_trash(const struct store *store, bool background)
{
	if (background)
		store_start_worker(store);
	else
		(void)delete_trash(store);
}

void store_ask_collect(const struct store *store)
{
	(void)mknodat(store->fd, GC_FILE, S_IFREG | 0600, 0);
}
