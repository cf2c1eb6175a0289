/* The watch of a directory's size: over its limit, growing, shrinking. */
#include "observe/disk_watch.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/str.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define PART (8u << 20)
#define PATIENCE_NS 60000000000u

static struct scratch scratch;

static void grow(const char *name, size_t len)
{
	owned(free_ptr) char *path = scratch_path(&scratch, name);
	owned(free_ptr) char *bytes = xcalloc(1, len);
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	memset(bytes, 'x', len);
	tap_ok(write(fd, bytes, len) == (ssize_t)len && fsync(fd) == 0, "%s grows", name);
}

/* A look may be left out after a walk that took long, and a walk may be cut: on a busy machine both happen. */
static bool look(struct disk_watch *watch)
{
	const struct timespec rest = { .tv_nsec = 5000000 };

	(void)nanosleep(&rest, NULL);
	return disk_watch_is_over(watch);
}

/* Looks until it holds at least (or, negative, at most) so many bytes; whether it was said to be over meanwhile. */
static bool look_until(struct disk_watch *watch, int64_t bytes)
{
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;
	bool is_over = false, is_seen = false;

	while (!is_seen && clock_now_ns() < until_ns) {
		is_over |= look(watch);
		is_seen = bytes < 0 ? watch->bytes <= (uint64_t)-bytes
				    : watch->bytes >= (uint64_t)bytes;
	}
	tap_ok(is_seen, "what is there is counted");
	return is_over;
}

/* What others write moves the free space, too, and then it is walked again. */
static bool look_after_others(struct disk_watch *watch)
{
	bool is_over = false;

	for (int i = 0; i < 20; i++) {
		watch->free_bytes += i % 2 ? 0 : 4 * PART;
		is_over |= look(watch);
	}
	return is_over;
}

int main(void)
{
	struct disk_watch watch;

	scratch_open(&scratch);
	owned(free_ptr) char *path = scratch_path(&scratch, "");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	disk_watch_init(&watch, fd, 2 * PART, 0);
	grow("a", PART);
	tap_ok(!look_until(&watch, PART), "below the limit");
	tap_ok(watch.entries == 1, "so is how many");
	grow("b", 2 * PART);
	tap_ok(look_until(&watch, 3 * PART), "above the limit");
	tap_ok(!look_after_others(&watch), "and not said again while nothing in it moves");
	owned(free_ptr) char *gone = scratch_path(&scratch, "a");

	tap_ok(unlink(gone) == 0 && !look_until(&watch, -(int64_t)(2 * PART + PART / 2)),
	       "shrinking is welcome");
	grow("b", PART);
	tap_ok(look_until(&watch, 3 * PART), "growing again is not");
	close(fd);
	scratch_close(&scratch);
	return tap_done();
}
