/* SPDX-License-Identifier: Apache-2.0 */
/* Old promotions: what they replaced is no longer kept. */
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/id.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KEPT_COUNT 20
#define KEPT_BYTES (5ull << 30)
#define RECORDS_MAX 1000
#define TRIM_DIRECTORIES_MAX 100000u
#define TORSO_MS 60000u

/* Bytes a transaction keeps; a lower bound when it changes meanwhile. */
static uint64_t bytes_of(const char *directory)
{
	struct strv ahead = STRV_INIT;
	uint64_t sum = 0;

	strv_add(&ahead, directory);
	for (size_t i = 0; i < ahead.count && ahead.count < TRIM_DIRECTORIES_MAX; i++) {
		owned(dir_close) DIR *dir = opendir(ahead.items[i]);
		struct dirent *entry;

		while (dir_next(dir, &entry) > 0) {
			struct stat st;

			if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			sum += (uint64_t)st.st_blocks * 512;
			if (S_ISDIR(st.st_mode))
				strv_addf(&ahead, "%s/%s", ahead.items[i], entry->d_name);
		}
	}
	strv_done(&ahead);
	return sum;
}

/* What it replaced goes; that it happened stays known. */
static void forget(const struct store *store, struct promotion_entry *entry, struct strv *removed)
{
	owned(fd_close) int lock_fd = -1;
	struct error ignored = { 0 };

	if (promotion_lock(store, entry->id, &lock_fd, &ignored) < 0)
		return;
	if (txn_forget(entry->directory, &ignored) < 0 && ignored.code != ERROR_NOT_FOUND)
		return;
	free_ptr(&entry->directory);
	if (strcmp(entry->state, "live") == 0) {
		free(entry->state);
		entry->state = xstrdup("kept");
	}
	if (promotion_save(store, entry, false, &ignored) == 0 && removed)
		strv_add(removed, entry->id);
}

/* How many newer ones there are of each target, and what all of them keep. */
struct tally {
	struct strv targets;
	size_t *counts;
	uint64_t bytes;
};

static size_t count_target(struct tally *tally, const char *target)
{
	size_t at = 0;

	while (at < tally->targets.count && strcmp(tally->targets.items[at], target) != 0)
		at++;
	if (at == tally->targets.count) {
		strv_add(&tally->targets, target);
		tally->counts = xrealloc(tally->counts, at + 1, sizeof(tally->counts[0]));
		tally->counts[at] = 0;
	}
	return ++tally->counts[at];
}

/*
 * Killed before it was noted at all: nothing but a directory. Its maker locks it, though not in the same moment; one
 * that is old and not locked has no owner.
 */
static void drop_torso(const struct store *store, const char *id, struct strv *removed)
{
	owned(fd_close) int lock_fd = -1;
	struct error ignored = { 0 };

	if (id_run_epoch_ms(id) + TORSO_MS > clock_epoch_ms() ||
	    promotion_lock(store, id, &lock_fd, &ignored) < 0)
		return;
	promotion_drop(store, id);
	if (removed)
		strv_add(removed, id);
}

static void trim_one(const struct store *store, const char *id, size_t newer, struct tally *tally,
		     struct strv *removed)
{
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };
	struct error ignored = { 0 };

	if (promotion_read(store, id, &entry, &ignored) < 0) {
		if (ignored.code == ERROR_NOT_FOUND)
			drop_torso(store, id, removed);
		return;
	}
	/* Records cost little, but not nothing. */
	if (newer >= RECORDS_MAX && !entry.directory)
		promotion_drop(store, id);
	if (!entry.directory ||
	    (strcmp(entry.state, "live") != 0 && strcmp(entry.state, "undone") != 0))
		return;
	/* The last one is kept whatever its size: it is what `undo` means. */
	tally->bytes += bytes_of(entry.directory);
	if (count_target(tally, entry.target) > KEPT_COUNT ||
	    (newer > 0 && tally->bytes > KEPT_BYTES))
		forget(store, &entry, removed);
}

void promotion_trim(const struct store *store, struct strv *removed)
{
	struct strv ids = STRV_INIT;
	struct tally tally = { .targets = STRV_INIT };
	struct error ignored = { 0 };

	if (promotion_ids(store, &ids, &ignored) < 0)
		return;
	for (size_t i = 0; i < ids.count; i++)
		trim_one(store, ids.items[i], i, &tally, removed);
	strv_done(&ids);
	strv_done(&tally.targets);
	free(tally.counts);
}

void promotion_keep(const struct store *store, const char *target, size_t count)
{
	struct strv ids = STRV_INIT;
	struct error ignored = { 0 };
	size_t seen = 0;

	if (promotion_ids(store, &ids, &ignored) < 0)
		return;
	for (size_t i = 0; i < ids.count; i++) {
		owned(promotion_entry_done) struct promotion_entry entry = { 0 };

		if (promotion_read(store, ids.items[i], &entry, &ignored) < 0 || !entry.directory ||
		    strcmp(entry.target, target) != 0 ||
		    (strcmp(entry.state, "live") != 0 && strcmp(entry.state, "undone") != 0))
			continue;
		if (++seen > count)
			forget(store, &entry, NULL);
	}
	strv_done(&ids);
}
