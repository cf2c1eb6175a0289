/* SPDX-License-Identifier: Apache-2.0 */
/* Scope-bound ownership: owned(fn) releases a variable when it leaves scope; take_* hands it over. */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <stdlib.h>
#include <unistd.h>

#define owned(release) __attribute__((cleanup(release)))

/* Cleanup for owned(free_ptr) char *p; */
static inline void free_ptr(void *slot)
{
	void **where = slot;

	free(*where);
	*where = NULL;
}

/* Cleanup for owned(fd_close) int fd; negative means "holds nothing". errno survives. */
void fd_close(int *fd);

/* Gives up ownership of *fd and returns it. */
static inline int fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Gives up ownership of the pointer in *slot and returns it. */
static inline void *ptr_take_raw(void *slot)
{
	void **where = slot;
	void *taken = *where;

	*where = NULL;
	return taken;
}

#define ptr_take(slot) ((__typeof__(*(slot)))ptr_take_raw(slot))

#endif
