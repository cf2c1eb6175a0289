/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts that are remembered from one reading of the facts to the next. */
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "host/parts.h"

#include <fcntl.h>
#include <poll.h>

#define MEMORY_NS UINT64_C(1000000000)

void host_memory_done(struct host_memory *memory)
{
	host_mounts_free(memory->mounts, memory->count);
	fd_close(&memory->fd);
	*memory = (struct host_memory)HOST_MEMORY_INIT;
}

/* A change since it was opened, or since this was last asked, is an urgent event of the file. */
static bool holds(const struct host_memory *memory)
{
	return memory->fd >= 0 && clock_now_ns() - memory->read_ns < MEMORY_NS &&
	       fd_wait(memory->fd, POLLPRI, 0) == 0;
}

int host_recall_mounts(struct host_memory *memory, struct host *host, struct error *err)
{
	if (!holds(memory)) {
		host_memory_done(memory);
		/* Opened before they are read: what changes in between is noticed the next time. */
		memory->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
		memory->read_ns = clock_now_ns();
		if (host_read_mounts(host, err) < 0) {
			host_memory_done(memory);
			return -1;
		}
		memory->mounts = host->mounts;
		memory->count = host->mount_count;
	}
	host->mounts = memory->mounts;
	host->mount_count = memory->count;
	host->borrows_mounts = true;
	return 0;
}
