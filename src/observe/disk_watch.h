/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a directory on disk holds, looked at now and then: for writable layers that have no size of their own.
 *
 * Free space of the filesystem is asked for each time; only when that has moved the tree is walked. The walk is bounded,
 * as the payload chooses the tree's shape.
 */
#ifndef OBSERVE_DISK_WATCH_H
#define OBSERVE_DISK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct disk_watch {
	int fd;				     /* the directory; borrowed */
	uint64_t limit_bytes, limit_entries; /* 0: none */
	uint64_t free_bytes, free_entries;   /* of the filesystem, at the last walk */
	uint64_t bytes, entries;	     /* as walked last */
	bool has_walked;
	bool is_entries;	/* of the last time it was over: by their number, not their bytes */
	uint64_t rest_until_ns; /* a long walk is followed by a longer rest */
	unsigned cut_count;	/* walks in a row that ran out of time */
	bool is_unsettled;	/* begun again, and not counted since by disk_watch_settle */
};

void disk_watch_init(struct disk_watch *watch, int fd, uint64_t limit_bytes,
		     uint64_t limit_entries);

/* Whether it is beyond a limit and has grown since the last look: what only shrinks is left alone. */
bool disk_watch_is_over(struct disk_watch *watch);

/* The same for the last look, whose result is reported: without a pause before it, and complete. */
bool disk_watch_is_over_at_last(struct disk_watch *watch);

/* Whether it was beyond a limit when it was last walked. */
bool disk_watch_is_full(const struct disk_watch *watch);

/* The processes that made it grow are being ended: what is there afterwards is not the next command's doing. */
void disk_watch_begin_again(struct disk_watch *watch);

/*
 * After that, when they have ended: counts what is there, so that the next command is measured from that count, not
 * from one taken while it runs. Does nothing otherwise.
 */
void disk_watch_settle(struct disk_watch *watch);

#endif
