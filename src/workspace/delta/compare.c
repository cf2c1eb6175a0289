/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file of the layer is the host's as it was: what costs nothing is asked first. */
#include "workspace/delta/compare.h"

#include "base/core/own.h"
#include "workspace/delta/bound.h"
#include "workspace/disk/lower.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

/* Reads until SIZE bytes are there or the file ends. */
static ssize_t read_block(int fd, char *ret_block, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = read(fd, ret_block + have, size - have);

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

static bool is_equal_content(struct change_scan *scan, int upper, int lower)
{
	char ours[16384], theirs[16384];
	ssize_t got;

	do {
		/* Again here: a file of the host may grow while it is read. */
		if (!bound_has_time(scan) || !bound_may_compare(scan, 0))
			return false;
		got = read_block(upper, ours, sizeof(ours));
		scan->compared += sizeof(ours);
		if (got < 0 || read_block(lower, theirs, sizeof(theirs)) != got ||
		    memcmp(ours, theirs, (size_t)got) != 0)
			return false;
	} while (got > 0);
	return true;
}

static bool is_equal_link(const struct compare_file *upper, const struct compare_file *lower)
{
	char ours[PATH_MAX], theirs[PATH_MAX];
	ssize_t len = readlinkat(upper->dir_fd, upper->name, ours, sizeof(ours));

	return len >= 0 && readlinkat(lower->dir_fd, lower->name, theirs, sizeof(theirs)) == len &&
	       memcmp(ours, theirs, (size_t)len) == 0;
}

bool compare_is_equal(struct change_scan *scan, const struct compare_file *upper,
		      const struct compare_file *lower)
{
	if (S_ISLNK(upper->st->st_mode) && S_ISLNK(lower->st->st_mode))
		return is_equal_link(upper, lower);
	/* A copy is a file of its own: being the host's very file must not vouch for it. */
	if (upper->st->st_dev == lower->st->st_dev && upper->st->st_ino == lower->st->st_ino)
		return false;
	if (upper->st->st_mode != lower->st->st_mode || upper->st->st_size != lower->st->st_size ||
	    !S_ISREG(upper->st->st_mode) || !bound_may_compare(scan, (uint64_t)upper->st->st_size))
		return false;
	owned(fd_close) int ours =
		openat(upper->dir_fd, upper->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	owned(fd_close) int theirs = lower_open_file(lower->dir_fd, lower->name, lower->st);

	return ours >= 0 && theirs >= 0 && is_equal_content(scan, ours, theirs);
}
