/* SPDX-License-Identifier: Apache-2.0 */
/* Times of directories: undone, a transaction leaves them as it found them, where nothing else has changed since. */
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_parts.h"

#include <string.h>
#include <sys/stat.h>

static int64_t mtime_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

void txn_times_note(struct txn_parent *parent, int fd)
{
	parent->mtime_ns = mtime_of(fd);
}

/* Parents are listed in the same order whenever a transaction is read, so one pass finds them. */
void txn_times_find(struct txn *txn)
{
	/* Changes of our own are older than DONE, rounded up. */
	int64_t until = (int64_t)(txn->done_ms + 1) * 1000000;
	size_t at = 0;

	for (size_t i = 0; i < txn->parent_count && at < txn->time_count; i++) {
		struct txn_parent *parent = &txn->parents[i];

		if (parent->slot != TXN_NONE_INDEX ||
		    strcmp(parent->path, txn->times[at].path) != 0)
			continue;
		parent->mtime_ns = txn->times[at++].mtime_ns;
		parent->keeps_time = parent->fd >= 0 && mtime_of(parent->fd) <= until;
	}
}

void txn_times_restore(struct txn *txn)
{
	for (size_t i = 0; i < txn->parent_count; i++) {
		struct txn_parent *parent = &txn->parents[i];
		struct timespec times[2] = {
			{ .tv_nsec = UTIME_OMIT },
			{ .tv_sec = parent->mtime_ns / 1000000000,
			  .tv_nsec = parent->mtime_ns % 1000000000 },
		};

		/* Best effort: without permission, or with too many to keep open, the times stay. */
		if (parent->keeps_time && parent->fd >= 0)
			(void)sys_utimensat(parent->fd, NULL, times, 0);
		parent->keeps_time = false;
	}
}
