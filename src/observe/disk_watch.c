/* How much a directory on disk holds, looked at now and then. */
#include "observe/disk_watch.h"

#include "base/clock.h"
#include "base/dir.h"
#include "base/own.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

/* What others write moves the free space as well: less than this is no reason to walk. */
#define MOVED_MIN (1u << 20)
#define MOVED_ENTRIES_MIN 64
#define WALK_NS 50000000u
#define DEPTH_MAX 64
#define REST_FACTOR 10
/* On a busy machine a short walk is cut, too: it is done again, but what is always too large is not walked for ever. */
#define CUT_RETRIES 5

struct walk {
	DIR *stack[DEPTH_MAX];
	size_t depth;
	uint64_t bytes, entries;
	uint64_t until_ns;
	bool is_cut;
};

void disk_watch_init(struct disk_watch *watch, int fd, uint64_t limit_bytes, uint64_t limit_entries)
{
	*watch = (struct disk_watch){ .fd = fd,
				      .limit_bytes = limit_bytes,
				      .limit_entries = limit_entries };
}

static void push(struct walk *walk, int dir_fd, const char *name)
{
	DIR *list = walk->depth == DEPTH_MAX ? NULL : dir_open(dir_fd, name);

	if (list)
		walk->stack[walk->depth++] = list;
}

static void count(struct walk *walk, int dir_fd, const char *name)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return;
	/* Whiteouts share one inode, and other names of a file share its blocks. */
	walk->bytes += (uint64_t)st.st_blocks * 512 /
		       (st.st_nlink && !S_ISDIR(st.st_mode) ? st.st_nlink : 1);
	walk->entries++;
	if (S_ISDIR(st.st_mode))
		push(walk, dir_fd, name);
}

static bool is_unfinished(const struct disk_watch *watch)
{
	return watch->cut_count > 0 && watch->cut_count <= CUT_RETRIES;
}

/* Of a walk that was cut, less than before says nothing. */
static void take_figures(struct disk_watch *watch, const struct walk *walk)
{
	bool is_floor = walk->is_cut && watch->has_walked;

	watch->cut_count = walk->is_cut ? watch->cut_count + 1 : 0;
	if (!is_floor || walk->bytes > watch->bytes)
		watch->bytes = walk->bytes;
	if (!is_floor || walk->entries > watch->entries)
		watch->entries = walk->entries;
	watch->has_walked |= !is_unfinished(watch);
}

/* Depth first; deeper than the bound, or later than it, nothing is counted: the figures are a floor. */
static void walk_tree(struct disk_watch *watch)
{
	uint64_t start_ns = clock_now_ns();
	struct walk walk = { .until_ns = start_ns + WALK_NS };

	push(&walk, watch->fd, ".");
	while (walk.depth > 0) {
		DIR *list = walk.stack[walk.depth - 1];
		struct dirent *entry;

		walk.is_cut |= clock_now_ns() >= walk.until_ns;
		if (!walk.is_cut && dir_next(list, &entry) > 0)
			count(&walk, dirfd(list), entry->d_name);
		else
			dir_close(&walk.stack[--walk.depth]);
	}
	take_figures(watch, &walk);
	watch->rest_until_ns = clock_now_ns() + (clock_now_ns() - start_ns) * REST_FACTOR;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool has_moved(struct disk_watch *watch)
{
	struct statfs fs;

	if (clock_now_ns() < watch->rest_until_ns || fstatfs(watch->fd, &fs) < 0)
		return false;
	uint64_t free_bytes = (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize;
	uint64_t free_entries = (uint64_t)fs.f_ffree;

	if (watch->has_walked && !is_unfinished(watch) &&
	    distance(free_bytes, watch->free_bytes) < MOVED_MIN &&
	    distance(free_entries, watch->free_entries) < MOVED_ENTRIES_MIN)
		return false;
	watch->free_bytes = free_bytes;
	watch->free_entries = free_entries;
	return true;
}

bool disk_watch_is_over(struct disk_watch *watch)
{
	uint64_t bytes = watch->bytes, entries = watch->entries;
	bool is_first = !watch->has_walked;

	if (watch->fd < 0 || (!watch->limit_bytes && !watch->limit_entries) || !has_moved(watch))
		return false;
	walk_tree(watch);
	/* What was there when we came is nobody's doing now. */
	if (is_first)
		return false;
	bool is_large = watch->limit_bytes && watch->bytes > watch->limit_bytes;

	watch->is_entries = !is_large || watch->bytes <= bytes;
	return (is_large && watch->bytes > bytes) ||
	       (watch->limit_entries && watch->entries > watch->limit_entries &&
		watch->entries > entries);
}

bool disk_watch_is_full(const struct disk_watch *watch)
{
	return (watch->limit_bytes && watch->bytes > watch->limit_bytes) ||
	       (watch->limit_entries && watch->entries > watch->limit_entries);
}

void disk_watch_begin_again(struct disk_watch *watch)
{
	watch->has_walked = false;
}
