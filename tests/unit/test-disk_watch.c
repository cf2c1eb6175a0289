/* SPDX-License-Identifier: Apache-2.0 */
/* The watch of a directory's size: over its limit, growing, shrinking. */
#include "observe/disk_watch.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

#define PLAIN_ID 54321

/* As somebody to whom modes mean something. Whether what is below FD is counted as at least BYTES. */
static bool is_counted(int fd, uint64_t bytes)
{
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;
	struct disk_watch watch;

	disk_watch_init(&watch, fd, PART, 0);
	while (watch.bytes < bytes && clock_now_ns() < until_ns) {
		watch.has_walked = false;
		(void)look(&watch);
		/* Had it found all there is to find, more looks would find no more. */
		if (watch.has_walked && watch.cut_count == 0)
			break;
	}
	return watch.bytes >= bytes;
}

static int become_plain(void)
{
	return geteuid() == 0 && (setresgid(PLAIN_ID, PLAIN_ID, PLAIN_ID) < 0 ||
				  setresuid(PLAIN_ID, PLAIN_ID, PLAIN_ID) < 0)
		       ? -1
		       : 0;
}

static bool has_namespaces(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(become_plain() < 0 || unshare(CLONE_NEWUSER) < 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* Directories shut with MODE, or DEPTH of them in one another, around a file. 0 when all of it was counted. */
static int hide_and_count(const char *name, mode_t mode, int depth)
{
	owned(fd_close) int top = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned(free_ptr) char *bytes = xcalloc(1, PART);
	owned(fd_close) int dir = -1;

	if (become_plain() < 0 || top < 0 || fchdir(top) < 0)
		return 2;
	for (int i = 0; i < depth; i++)
		if (mkdir("d", 0700) < 0 || chdir("d") < 0)
			return 2;
	owned(fd_close) int fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (write(fd, bytes, PART) != (ssize_t)PART || fsync(fd) < 0)
		return 2;
	dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fchmod(dir, mode) < 0)
		return 2;
	int status = is_counted(top, PART) ? 0 : 1;
	struct stat st;

	if (fstat(dir, &st) < 0 || (st.st_mode & 07777) != mode)
		status = 3;
	(void)fchmod(dir, 0700);
	return status;
}

static void check_hidden(const char *name, mode_t mode, int depth, const char *what)
{
	owned(free_ptr) char *path = scratch_path(&scratch, name);
	int status = -1;
	pid_t pid;

	scratch_mkdir(&scratch, name);
	if (geteuid() == 0 && chown(path, PLAIN_ID, PLAIN_ID) < 0)
		tap_bail("chown");
	pid = fork();
	if (pid == 0)
		_exit(hide_and_count(path, mode, depth));
	(void)waitpid(pid, &status, 0);
	tap_is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0, "%s", what);
}

static void test_hidden(void)
{
	check_hidden("deep", 0700, 200, "what lies deep is counted");
	if (!has_namespaces()) {
		tap_skip(4, "no user namespaces here");
		return;
	}
	check_hidden("write", 0300, 1, "what is shut to readers, too, and stays shut");
	check_hidden("none", 0000, 1, "what is shut to all");
	check_hidden("list", 0400, 1, "what can be listed, but not looked at");
	check_hidden("both", 0000, 200, "what is shut and lies deep");
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
	grow("c", PART);
	watch.rest_until_ns = clock_now_ns() + 2 * PATIENCE_NS;
	tap_ok(!look(&watch), "nobody looks in a rest");
	tap_ok(disk_watch_is_over_at_last(&watch) && watch.bytes >= 4 * PART, "but in the end");
	close(fd);
	test_hidden();
	scratch_close(&scratch);
	return tap_done();
}
