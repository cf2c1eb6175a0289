/* SPDX-License-Identifier: Apache-2.0 */
/* Names of one file in what is promoted. Private to promote. */
#ifndef WORKSPACE_PROMOTE_LINK_H
#define WORKSPACE_PROMOTE_LINK_H

#include "workspace/promote/promote_parts.h"

/* Where an object is staged. */
struct promote_name {
	int dir_fd;
	const char *name;
	struct txn_stage *stage; /* of the step it is staged in */
};
/* Ties the names of one inode to a ring. */
void promote_find_mates(struct promote *promote);
/* Whether the host gets the sandbox's file as it is. */
bool promote_is_plain(const struct item *item);
int promote_find_anchors(struct promote *promote, struct error *err);
const char *promote_last_name(const struct item *item);
/* The directory of ITEM, where TOP is staged as NAME in FD; -1 with errno. */
int promote_open_staged(int fd, const char *name, const struct item *top, const struct item *item);
/* Makes AT a name of what is there already; 0 when there is nothing, or it is not permitted. */
int promote_stage_link(const struct promote *promote, const struct item *item,
		       const struct promote_name *at, struct error *err);
void promote_note_staged(const struct promote *promote, const struct item *item);
/* A transaction begins, perhaps once more: nothing is staged. */
void promote_forget_staged(const struct promote *promote);

#endif
