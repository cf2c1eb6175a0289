/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for who works on a store in the background. */
#ifndef TESTS_STORE_SETTLE_H
#define TESTS_STORE_SETTLE_H

#include "base/core/own.h"
#include "workspace/store/store_parts.h"
#include "workspace/store/unsynced.h"

#include <fcntl.h>
#include <sys/file.h>

/* Until nobody does; how many layers he left to the next. */
static inline size_t store_wait(const struct store *store)
{
	owned(strv_done) struct strv left = STRV_INIT;
	owned(fd_close) int fd = openat(store->fd, "worker", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct error ignored;

	if (fd >= 0)
		(void)flock(fd, LOCK_EX);
	return unsynced_list(store, &left, &ignored) < 0 ? 0 : left.count;
}

/* Until all is done that can be. Whoever takes the lock between two rounds ends the worker: then it is started again. */
static inline void store_settle(const struct store *store)
{
	size_t left = store_wait(store);

	for (size_t before = SIZE_MAX; left > 0 && left < before;) {
		before = left;
		store_start_worker(store);
		left = store_wait(store);
	}
}

#endif
