/* Where the new object of a transaction's step is put, and where those of other steps are. */
#ifndef WORKSPACE_TXN_STAGE_H
#define WORKSPACE_TXN_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#define TXN_STAGED_NAME_SIZE 256

struct txn_stage {
	int fd;
	const char *name;
	bool is_shared; /* set by who stages: it is an object of reality's, which has it under another name */
	/*
	 * Where the object of operation OP of the plan, staged before, lies: another name of it, or of what is below it, can
	 * be made. The caller closes *ret_fd. 0, or -1 with errno.
	 */
	int (*find)(const struct txn_stage *stage, size_t op, int *ret_fd,
		    char ret_name[static TXN_STAGED_NAME_SIZE]);
	void *within;
};

#endif
