/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading as a program without privileges reads: what a root caller's sandbox may not read is not read for it either.
 *
 * A root caller's sandbox has its user and group, no other groups and no capability. While rights are lessened this thread
 * has the same rights to files; everything else, and what is open already, stays as it is. For other callers nothing
 * changes: the kernel asks the same of them as of their sandboxes.
 */
#ifndef BASE_FILE_RIGHTS_H
#define BASE_FILE_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FILE_RIGHTS_GROUPS 1024

struct file_rights {
	bool is_less;
	uint32_t effective; /* capabilities 0 to 31, as they were */
	int group_count;
	gid_t groups[FILE_RIGHTS_GROUPS];
};

/* 0, or -1 with errno: then nothing may be read for the sandbox. To be restored in any case. */
int file_rights_lessen(struct file_rights *ret_rights);

/* Keeps errno. Ends the program if the kernel refuses, which would go on with less than it needs. */
void file_rights_restore(struct file_rights *rights);

#endif
