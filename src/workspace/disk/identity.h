/* SPDX-License-Identifier: Apache-2.0 */
/* What an object of the host is: enough to see later whether it still is that. */
#ifndef WORKSPACE_IDENTITY_H
#define WORKSPACE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

/* What an object was when it was last looked at. */
struct txn_identity {
	bool exists;
	uint64_t dev, ino, btime_ns;
	uint64_t size; /* of a device: its number */
	int64_t mtime_ns, ctime_ns;
	uint32_t mode, uid, gid;
	uint64_t tree; /* of a directory: sum over all that is below (txn_tree_of); 0: not taken */
};

/*
 * What NAME is now; "nothing" is an answer. *ret_identity is "nothing" on errors, too: then -1 with errno, and the caller
 * must not act upon it.
 */
int txn_identity_of(int dir_fd, const char *name, struct txn_identity *ret_identity);

/*
 * The sum over names, inodes, sizes, times and modes of all that is below directory NAME; never 0. To be kept in an
 * identity: then a change anywhere below is seen up to the moment the directory is displaced. 0, or -1 with errno.
 */
int txn_tree_of(int dir_fd, const char *name, uint64_t *ret_tree);

/* Errors of a look at a name that say that nothing is there, for a sandbox neither. No other error means that. */
bool view_is_nothing(int errnum);

#endif
