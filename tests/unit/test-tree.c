/* SPDX-License-Identifier: Apache-2.0 */
/* Removing directories that somebody hostile wrote: deep, closed, full of links. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/tree.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_USUAL 2100 /* no path of the kernel's is that long */
#define DEPTH_LONG 5000

static void make_file(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0400);

	if (fd < 0)
		tap_bail("no scratch file");
	close(fd);
}

/* A chain of directories no path could name, the last one with a file. */
static void make_deep(int dir_fd, int depth)
{
	int at = dup(dir_fd);

	for (int i = 0; i < depth; i++) {
		int below;

		if (mkdirat(at, "d", 0755) < 0)
			tap_bail("no deep directory");
		below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = below;
	}
	make_file(at, "file");
	close(at);
}

static void make_closed(int dir_fd)
{
	if (mkdirat(dir_fd, "outer", 0755) < 0 || mkdirat(dir_fd, "outer/closed", 0755) < 0 ||
	    mkdirat(dir_fd, "outer/closed/more", 0755) < 0)
		tap_bail("no closed directory");
	make_file(dir_fd, "outer/closed/more/file");
	(void)fchmodat(dir_fd, "outer/closed/more", 0, 0);
	(void)fchmodat(dir_fd, "outer/closed", 0, 0);
}

/* What a removal leaves that is killed: a directory by the name that the next one gives first. */
static void make_lifted(int dir_fd)
{
	if (mkdirat(dir_fd, "half", 0755) < 0 || mkdirat(dir_fd, "half/.lifted-0", 0755) < 0 ||
	    mkdirat(dir_fd, "half/.lifted-0/inner", 0755) < 0)
		tap_bail("no half removed directory");
	make_file(dir_fd, "half/.lifted-0/inner/file");
}

int main(void)
{
	char dir[] = "/tmp/aisbx-test-tree-XXXXXX";
	int depth = (int)tap_size(DEPTH_USUAL, DEPTH_USUAL, DEPTH_LONG);
	owned(fd_close) int top = -1, outside = -1;

	if (!mkdtemp(dir) || (top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		tap_bail("no scratch directory");
	if (mkdirat(top, "victim", 0755) < 0 || mkdirat(top, "kept", 0755) < 0)
		tap_bail("no scratch directory");
	make_file(top, "kept/file");
	outside = openat(top, "victim", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_deep(outside, depth);
	make_closed(outside);
	make_file(outside, "file");
	make_file(outside, ".lifted-0");
	(void)symlinkat("../kept", outside, "link");
	(void)mkfifoat(outside, "fifo", 0600);

	tap_is_int(tree_remove(top, "victim"), 0,
		   "%d levels, closed directories, links and a fifo go", depth);
	tap_ok(faccessat(top, "victim", F_OK, 0) < 0, "nothing is left of it");
	tap_ok(faccessat(top, "kept/file", F_OK, 0) == 0, "what a link pointed to stays");
	tap_ok(tree_remove(top, "victim") < 0 && errno == ENOENT, "what is not there is an error");
	tap_is_int(tree_remove(top, "kept"), 0, "a plain directory goes");
	(void)symlinkat("nowhere", top, "dangling");
	tap_is_int(tree_remove(top, "dangling"), 0, "a link goes as itself");
	make_lifted(top);
	tap_is_int(tree_remove(top, "half"), 0, "what a killed removal left goes");
	tap_is_int(rmdir(dir), 0, "the directory above is empty again");
	fd_close(&top);
	fd_close(&outside);
	return tap_done();
}
