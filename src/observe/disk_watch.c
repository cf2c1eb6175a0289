/* SPDX-License-Identifier: Apache-2.0 */
/* How much a directory on disk holds, looked at now and then. */
#include "observe/disk_watch.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

/* What others write moves the free space as well: less than this is no reason to walk. */
#define MOVED_MIN (1u << 20)
#define MOVED_ENTRIES_MIN 64
/*
 * Of processor time, twice as much after each walk that was cut: on a busy machine a walk gets little of it.
 * WHOLE_WALK_NS bounds the elapsed time, however slow the disk is.
 */
#define WALK_NS 50000000u
#define DOUBLINGS_MAX 3
#define WHOLE_WALK_NS 2000000000u
/* While no process is inside and no command waits. */
#define SETTLE_NS 1000000000u
#define REST_FACTOR 10
/* A walk that was cut is done again, but what is always too large is not walked for ever. */
#define CUT_RETRIES 5

/* What was counted. */
struct figures {
	uint64_t bytes, entries;
	unsigned missed; /* of the walk */
};

void disk_watch_init(struct disk_watch *watch, int fd, uint64_t limit_bytes, uint64_t limit_entries)
{
	*watch = (struct disk_watch){ .fd = fd,
				      .limit_bytes = limit_bytes,
				      .limit_entries = limit_entries };
}

static int count(const struct walk_entry *entry, void *cookie)
{
	const struct statx *st = entry->st;
	struct figures *found = cookie;

	/* Whiteouts share one inode, and other names of a file share its blocks. */
	found->bytes += st->stx_blocks * 512 /
			(st->stx_nlink && !S_ISDIR(st->stx_mode) ? st->stx_nlink : 1);
	found->entries++;
	return 0;
}

/* What comes later than the bound is not counted: the figures are a floor. */
static struct figures walk_below(int fd, uint64_t budget_ns)
{
	struct figures found = { 0 };
	struct walk walk = { .purpose = WALK_WATCH,
			     .visit = count,
			     .cookie = &found,
			     .busy_until_ns = clock_busy_ns() + budget_ns,
			     .until_ns = clock_now_ns() + WHOLE_WALK_NS };

	(void)walk_tree(&walk, fd, ".");
	found.missed = walk.missed;
	return found;
}

static bool write_maps(uid_t uid, gid_t gid)
{
	char map[64];

	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (file_write_small(AT_FDCWD, "/proc/self/uid_map", map) < 0)
		return false;
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return file_write_small(AT_FDCWD, "/proc/self/setgroups", "deny") == 0 &&
	       file_write_small(AT_FDCWD, "/proc/self/gid_map", map) == 0;
}

/* In a user namespace of its own the caller may read whatever belongs to it, whatever its mode. */
static bool take_rights(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	bool is_done;

	if (unshare(CLONE_NEWUSER) < 0)
		return false;
	/* The files of a process that others of this user may not look into belong to root. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	is_done = write_maps(uid, gid);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return is_done;
}

/*
 * A directory that its owner shut, which is the payload, would hide all it holds. Its mode is the payload's own affair, so
 * it is not changed: a child looks once more that may. Where there is none, what was counted before stands.
 */
static void walk_closed(int fd, uint64_t budget_ns, struct figures *found)
{
	owned(fd_close) int child_fd = -1;
	struct figures told;
	struct error ignored;
	pid_t pid = child_fork(CHILD_WRITES, 0, &child_fd, &ignored);

	if (pid == 0) {
		if (!take_rights())
			_exit(1);
		told = walk_below(fd, budget_ns);
		_exit(write(child_fd, &told, sizeof(told)) != (ssize_t)sizeof(told));
	}
	if (pid > 0 && read(child_fd, &told, sizeof(told)) == (ssize_t)sizeof(told))
		*found = told;
	(void)child_wait(pid);
}

static bool is_unfinished(const struct disk_watch *watch)
{
	return watch->cut_count > 0 && watch->cut_count <= CUT_RETRIES;
}

/* After a walk that was cut short, a smaller number means nothing. */
static void take_figures(struct disk_watch *watch, const struct figures *found)
{
	bool is_cut = found->missed & WALK_CUT, is_floor = is_cut && watch->has_walked;

	watch->cut_count = is_cut ? watch->cut_count + 1 : 0;
	if (!is_floor || found->bytes > watch->bytes)
		watch->bytes = found->bytes;
	if (!is_floor || found->entries > watch->entries)
		watch->entries = found->entries;
	watch->has_walked |= !is_unfinished(watch);
}

static void walk_now(struct disk_watch *watch, uint64_t budget_ns)
{
	uint64_t start_ns = clock_busy_ns();
	struct figures found = walk_below(watch->fd, budget_ns);

	if (found.missed & WALK_CLOSED)
		walk_closed(watch->fd, budget_ns, &found);
	take_figures(watch, &found);
	watch->rest_until_ns = clock_now_ns() + (clock_busy_ns() - start_ns) * REST_FACTOR;
}

static uint64_t budget_of(const struct disk_watch *watch)
{
	unsigned cuts = watch->cut_count;

	return (uint64_t)WALK_NS << (cuts < DOUBLINGS_MAX ? cuts : DOUBLINGS_MAX);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t free_bytes_of(const struct statfs *fs)
{
	return (uint64_t)fs->f_bfree * (uint64_t)fs->f_bsize;
}

static void note_free(struct disk_watch *watch, const struct statfs *fs)
{
	watch->free_bytes = free_bytes_of(fs);
	watch->free_entries = (uint64_t)fs->f_ffree;
}

static bool has_moved(struct disk_watch *watch)
{
	struct statfs fs;

	if (clock_now_ns() < watch->rest_until_ns || fstatfs(watch->fd, &fs) < 0)
		return false;
	if (watch->has_walked && !is_unfinished(watch) &&
	    distance(free_bytes_of(&fs), watch->free_bytes) < MOVED_MIN &&
	    distance((uint64_t)fs.f_ffree, watch->free_entries) < MOVED_ENTRIES_MIN)
		return false;
	note_free(watch, &fs);
	return true;
}

bool disk_watch_is_over(struct disk_watch *watch)
{
	uint64_t bytes = watch->bytes, entries = watch->entries;
	bool is_first = !watch->has_walked;

	if (watch->fd < 0 || (!watch->limit_bytes && !watch->limit_entries) || !has_moved(watch))
		return false;
	walk_now(watch, budget_of(watch));
	/* What the first walk finds was not written by this command. */
	if (is_first)
		return false;
	bool is_large = watch->limit_bytes && watch->bytes > watch->limit_bytes;

	watch->is_entries = !is_large || watch->bytes <= bytes;
	return (is_large && watch->bytes > bytes) ||
	       (watch->limit_entries && watch->entries > watch->limit_entries &&
		watch->entries > entries);
}

bool disk_watch_is_over_at_last(struct disk_watch *watch)
{
	bool is_over;

	do {
		watch->rest_until_ns = 0;
		is_over = disk_watch_is_over(watch);
	} while (!is_over && is_unfinished(watch));
	return is_over;
}

bool disk_watch_is_full(const struct disk_watch *watch)
{
	return (watch->limit_bytes && watch->bytes > watch->limit_bytes) ||
	       (watch->limit_entries && watch->entries > watch->limit_entries);
}

void disk_watch_begin_again(struct disk_watch *watch)
{
	watch->has_walked = false;
	watch->cut_count = 0;
	watch->is_unsettled = true;
	/* In a rest the next would write unseen, and be taken for what was there. */
	watch->rest_until_ns = 0;
}

void disk_watch_settle(struct disk_watch *watch)
{
	struct statfs fs;

	if (watch->fd < 0 || !watch->is_unsettled || fstatfs(watch->fd, &fs) < 0)
		return;
	note_free(watch, &fs);
	watch->has_walked = false;
	walk_now(watch, SETTLE_NS);
	watch->is_unsettled = false;
	watch->rest_until_ns = 0;
}
