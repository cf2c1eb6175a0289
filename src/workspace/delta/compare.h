/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file of the layer is the host's as it was: opened for writing, copied up, never changed. */
#ifndef WORKSPACE_COMPARE_H
#define WORKSPACE_COMPARE_H

#include "workspace/delta/change.h"

#include <sys/stat.h>

/* A file by its directory and name, with the kernel's data about it. */
struct compare_file {
	int dir_fd;
	const char *name;
	const struct stat *st;
};

/* What can no longer be compared within the bounds of SCAN counts as changed. */
bool compare_is_equal(struct change_scan *scan, const struct compare_file *upper,
		      const struct compare_file *lower);

#endif
