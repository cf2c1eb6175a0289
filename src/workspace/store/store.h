/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: where named sandboxes, their layers and what promotions need are kept on disk.
 *
 *   VERSION             format number
 *   lock                flock: exclusive for gc and removal of what is shared, else shared
 *   sbx/NAME/           one sandbox (sandbox.h)
 *   layers/LID/         sealed, immutable layers (layer.h)
 *   cas/xx/...          contents by sha256, mode 0400 (cas.h)
 *   promotions/ID/      what was promoted and how to take it back (promotion.h)
 *   stages/BUNDLE/      a change on its way through a pipeline (app/stage/stage.h)
 *   caches/NAME         warm caches of tools (cache.h)
 *   artifacts/ID        build outputs that were saved (app/change/artifact.h)
 *   conflicts/ID        what a pull cannot decide (app/travel/travel.h)
 *   remotes/ID.NAME     the newest push that was seen at a remote (app/travel/travel_parts.h)
 *   unsynced-layers     ids of layers the disk may not have yet; an index and no more
 *   next-expiry         its time of change is when the first sandbox ends
 *   served/OWNER        locked as long as a server of this owner lives (app/serve/served.h)
 *   trash/              renamed here, deleted later by the store worker
 *
 * Mode 0700, hidden from every sandbox. Small files change by write, rename; they are synced only where a promise
 * depends on it (promotion, snap --durable): sealing must not wait for a disk that a stranger keeps busy.
 */
#ifndef WORKSPACE_STORE_H
#define WORKSPACE_STORE_H

#include "base/core/error.h"

#include <stdbool.h>

#define STORE_VERSION 1

struct store {
	int fd;	     /* of the directory */
	int lock_fd; /* held shared; -1 when opened without lock */
	char *path;  /* absolute */
};

/* Opens the store at PATH, making it on first use. Refuses one of another owner, of mode beyond 0700, of a newer format. */
int store_open(const char *path, struct store *ret_store, struct error *err);
void store_close(struct store *store);

/* Gives up the lock, for processes that stay: a supervisor, a command that runs for hours. Pointers are changed under the lock only. */
void store_unlock(struct store *store);
int store_relock(struct store *store, struct error *err);

/* Renames NAME below DIR_FD into the trash, which removes it at once for all processes. ENOENT is no error. */
int store_trash(const struct store *store, int dir_fd, const char *name, struct error *err);

/* Deletes what lies in the trash. BACKGROUND: by a detached process at idle priority; else here and now. */
void store_empty_trash(const struct store *store, bool background);

/* Replaces file NAME below DIR_FD by write and rename; DURABLE syncs file and directory. */
int store_replace(int dir_fd, const char *name, const void *bytes, unsigned long len, bool durable,
		  struct error *err);

/* This boot's id, to recognise what an earlier boot left unfinished. */
int store_boot_id(char ret_id[static 37], struct error *err);

#endif
