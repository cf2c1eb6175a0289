/* SPDX-License-Identifier: Apache-2.0 */
/* Where the new object of a transaction's step is put, and where those of other steps are. */
#ifndef WORKSPACE_TXN_STAGE_H
#define WORKSPACE_TXN_STAGE_H

#include <stddef.h>

#define TXN_STAGED_NAME_SIZE 256

struct txn_identity;

struct txn_stage {
	int fd;
	const char *name;
	/* Called while staging: OBJECT of the host, with its previous state, was linked here or below. May be NULL. */
	void (*shares)(const struct txn_stage *stage, const struct txn_identity *object);
	/*
	 * Where the object of operation OP of the plan, staged before, lies: another name of it, or of what is below it, can
	 * be made. The caller closes *ret_fd. 0, or -1 with errno.
	 */
	int (*find)(const struct txn_stage *stage, size_t op, int *ret_fd,
		    char ret_name[static TXN_STAGED_NAME_SIZE]);
	void *within;
};

#endif
