/* SPDX-License-Identifier: Apache-2.0 */
/* The walker of directory trees: no recursion, no link followed, few descriptors open, limits from one table. */
#ifndef BASE_WALK_H
#define BASE_WALK_H

#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* What a tree is walked for: the row of the table in walk.c that limits the walk. */
enum walk_purpose {
	WALK_TXN,     /* what a transaction moves, compares or syncs */
	WALK_REPLACE, /* a whole target that gets a twin */
	WALK_MEASURE, /* how much room a sandbox takes */
	WALK_WATCH,   /* how much a running command has written */
	WALK_DRIFT,   /* what the host changed since a base was taken */
	WALK_SCAN,    /* files of a directory to be scanned */
	WALK_LOGS,    /* a repository's logs, which may hold addresses with a password */
	WALK_PACK,    /* a directory that is copied into a sandbox */
	WALK_COPY,    /* a workspace that a driver gets a copy of */
	WALK_GROUPS,  /* control groups of this machine */
};

/* Levels of directories that a transaction moves, and that other walks look into. */
#define WALK_DEPTH_MAX 500
#define WALK_PACK_DEPTH 200

struct walk_entry {
	int dir_fd;	  /* the directory it is in */
	const char *name; /* in that */
	const char *path; /* from the start */
	const struct statx *st;
	bool is_leaving; /* a directory for the second time, after what is in it */
};

/* Below zero ends the walk; a directory is not entered with WALK_SKIP. */
typedef int walk_visit(const struct walk_entry *entry, void *cookie);
#define WALK_SKIP 1

/* What a walk that goes on after failures has not seen; what is gone meanwhile does not count. */
#define WALK_CUT 1u    /* a limit was reached, or a directory was moved away */
#define WALK_CLOSED 2u /* the caller may not look into something */
#define WALK_FAILED 4u

struct walk {
	enum walk_purpose purpose;
	walk_visit *visit;
	void *cookie;
	uint64_t until_ns, busy_until_ns; /* by the machine's clock, by the thread's; 0: no bound */
	/* Of all trees that were walked with it. */
	uint64_t entries;
	unsigned missed;
	char failed_at[STR_SHOWN_SIZE]; /* the first path that failed, to be shown */
};

/*
 * Visits everything below NAME, parents before children. 0, or -1 with errno: from VISIT, or for purposes that
 * end at the first failure: ELOOP where it is too deep, E2BIG and ETIME beyond other limits, EXDEV at a mount point.
 */
int walk_tree(struct walk *walk, int dir_fd, const char *name);

/* Whether relative PATH lies deeper than transactions go: what they move, they walk. */
bool walk_is_too_deep(const char *path);

#endif
