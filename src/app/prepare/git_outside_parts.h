/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about outside git directories share. */
#ifndef APP_GIT_OUTSIDE_PARTS_H
#define APP_GIT_OUTSIDE_PARTS_H

#include "app/prepare/git_outside.h"

#include <stdbool.h>

#define GIT_LINE_MAX 4096

/* A directory that was reached without a link. */
struct git_place {
	int fd;
	char *path; /* absolute and clean */
};

void git_place_done(struct git_place *place);

/* NAMED, absolute or as seen from FROM (absolute). -1 with errno: ELOOP where a link is on the way. */
int git_place_open(const char *from, const char *named, struct git_place *ret_place);

/* The first line of the regular file NAME in PLACE behind PREFIX; NULL: it has none. The caller's to free. */
char *git_place_line(const struct git_place *place, const char *name, const char *prefix);

/* Whether NAME in PLACE is a directory, or a regular file; links are neither. */
bool git_place_has(const struct git_place *place, const char *name, mode_t kind);

/* How much of a git directory is seen. */
enum git_part {
	GIT_COMMON, /* what worktrees share, and of them OWN alone */
	GIT_OWN,    /* the work tree's own: its index and what it is in the middle of as well */
};

/* Adds an entry for PLACE; -1: its configuration cannot be read as git reads it. OWN: a worktree's, or NULL. */
int git_show_directory(struct plan_paths *paths, const struct git_place *place,
		       const struct git_place *own);
/* Adds an entry for the object store PLACE. */
void git_show_objects(struct plan_paths *paths, const struct git_place *place);

#endif
