/* The watch of a directory's size: over its limit, growing, shrinking. */
#include "observe/disk_watch.h"

#include "base/own.h"
#include "base/str.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <unistd.h>

#define PART (8u << 20)

static struct scratch scratch;

static void grow(const char *name, size_t len)
{
	owned(free_ptr) char *path = scratch_path(&scratch, name);
	owned(free_ptr) char *bytes = xcalloc(1, len);
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	memset(bytes, 'x', len);
	tap_ok(write(fd, bytes, len) == (ssize_t)len && fsync(fd) == 0, "%s grows", name);
}

int main(void)
{
	struct disk_watch watch;

	scratch_open(&scratch);
	owned(free_ptr) char *path = scratch_path(&scratch, "");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	disk_watch_init(&watch, fd, 2 * PART, 0);
	grow("a", PART);
	tap_ok(!disk_watch_is_over(&watch), "below the limit");
	tap_ok(watch.bytes >= PART && watch.entries == 1, "what is there is counted");
	grow("b", 2 * PART);
	tap_ok(disk_watch_is_over(&watch), "above the limit");
	tap_ok(!disk_watch_is_over(&watch), "and not said again while nothing moves");
	owned(free_ptr) char *gone = scratch_path(&scratch, "a");

	tap_ok(unlink(gone) == 0 && !disk_watch_is_over(&watch), "shrinking is welcome");
	close(fd);
	scratch_close(&scratch);
	return tap_done();
}
