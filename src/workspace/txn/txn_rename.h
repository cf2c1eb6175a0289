/* SPDX-License-Identifier: Apache-2.0 */
/* The two renames a transaction is made of, on filesystems that know renameat2's flags and on those that do not. */
#ifndef WORKSPACE_TXN_RENAME_H
#define WORKSPACE_TXN_RENAME_H

/* A name in an open directory. */
struct rename_end {
	int fd;
	const char *name;
};

/* FROM becomes TO, which must be free (EEXIST). 0, or -1 with errno. */
int rename_to_free(struct rename_end from, struct rename_end to);
/*
 * What is at PATH and in SLOT change places. Where the filesystem cannot, by way of BACKUP, beside SLOT; txn_settle ends
 * that when it is cut short. 0, or -1 with errno.
 */
int rename_exchange(struct rename_end path, struct rename_end slot, const char *backup);

#endif
