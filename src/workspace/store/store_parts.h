/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the store share among themselves: files, locks, the note of the next expiry, the worker. */
#ifndef WORKSPACE_STORE_PARTS_H
#define WORKSPACE_STORE_PARTS_H

#include "base/core/error.h"
#include "workspace/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPIRY_FILE "next-expiry"
#define EXPIRY_NEVER_MS 2145916800000u /* 2038: the latest a filesystem of any age can note */
#define GC_FILE "collect"	       /* exists while garbage may be left */

/* A file to flock, made where it is missing; ERROR_INPUT when something else lies there. */
int store_open_lock_file(int dir_fd, const char *name, int *ret_fd, struct error *err);
/* flock(2), over EINTR. 0, or -1 with errno. */
int store_flock(int fd, int operation);

/* Has the filesystem put sandboxes apart from each other and from everything else. FD is the store's. */
void store_spread(int fd);

/* Writes a file in place: for what is only believed when it is whole. */
int store_write(int dir_fd, const char *name, const void *bytes, size_t len, struct error *err);

/* Writes over what a file begins with, in one go. */
int store_overwrite(int dir_fd, const char *name, const void *bytes, size_t len, struct error *err);

/* When the first sandbox ends; 0 when none ever will. One system call. */
uint64_t store_next_expiry_ms(const struct store *store);
/* One more ends at MS. */
int store_note_expiry(const struct store *store, uint64_t ms, struct error *err);
/* FD is the file, locked. */
int store_set_expiry(int fd, uint64_t ms, struct error *err);

/*
 * Starts the process that does what can wait: empties the trash, collects garbage when asked to, syncs layers. Nothing
 * happens while one is at work: it looks again before it ends.
 */
void store_start_worker(const struct store *store);

/* Whether the worker should also collect garbage. */
void store_ask_collect(const struct store *store);

#endif
