/* SPDX-License-Identifier: Apache-2.0 */
/* Walking what is below a directory, without recursion and without following links. */
#ifndef WORKSPACE_TXN_WALK_H
#define WORKSPACE_TXN_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#define WALK_DEPTH_MAX 500

struct walk_entry {
	int dir_fd;	  /* the directory it is in */
	const char *name; /* in that */
	const char *path; /* from the start */
	const struct statx *st;
	bool is_leaving; /* a directory for the second time, after what is in it (walk_tree_both) */
};

/* Whether relative PATH lies deeper than transactions go: what they move, they walk. */
bool walk_is_too_deep(const char *path);

typedef int walk_visit(const struct walk_entry *entry, void *cookie);

/*
 * Visits everything below NAME, parents before children. ELOOP beyond WALK_DEPTH_MAX, EXDEV at a mount point; anything but
 * 0 from VISIT ends it. 0, or -1 with errno.
 */
int walk_tree(int dir_fd, const char *name, walk_visit *visit, void *cookie);
/* Visits directories again when they are left. */
int walk_tree_both(int dir_fd, const char *name, walk_visit *visit, void *cookie);

#endif
