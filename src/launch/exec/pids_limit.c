/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sandbox is as full of processes as it may be. */
#include "launch/exec/pids_limit.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "observe/tree_sample.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* The number of the last process made here; they are given one after the other. 0 when unknown. */
static uint64_t last_number(void)
{
	char text[128];
	const char *last = file_read_small(AT_FDCWD, "/proc/loadavg", text, sizeof(text)) > 0
				   ? strrchr(text, ' ')
				   : NULL;

	return last ? strtoull(last, NULL, 10) : 0;
}

bool pids_limit_is_hit(uint64_t pids)
{
	if (!pids || last_number() < pids)
		return false;
	owned(fd_close) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return proc_fd >= 0 && tree_count(proc_fd) + 1 >= pids;
}
