/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Project quotas: a directory whose filesystem counts what is below it, and refuses what goes beyond.
 *
 * Root only, and where the filesystem was mounted with them (ext4, XFS: prjquota). The overlay writes without the right to
 * ignore a quota, and a process in a user namespace can take no file out of a project. Without one, the size is watched
 * instead.
 */
#ifndef CONFINE_QUOTA_H
#define CONFINE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

struct quota {
	int fd; /* the directory; borrowed */
	bool is_on;
	uint32_t project;
	uint64_t bytes, inodes; /* 0: none */
};

/* Begins to hold what is, and will be, below FD to these bounds; what is there already must be of a project begun so. */
void quota_begin(struct quota *quota, int fd, uint64_t bytes, uint64_t inodes);

/* What is below FD is made: FD itself passes the project on no longer, so that its owner can move things there. */
void quota_settle(const struct quota *quota);

/* Whether as much is there as may be: of bytes, or of inodes. */
void quota_look(const struct quota *quota, bool *ret_is_full, bool *ret_inodes_hit);

/* Takes the bounds off; what is counted stays counted. */
void quota_end(struct quota *quota);

#endif
