/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of layers the disk may not have yet, for the next sync. A layer's own record is what counts. */
#ifndef WORKSPACE_UNSYNCED_H
#define WORKSPACE_UNSYNCED_H

#include "base/core/str.h"
#include "workspace/store/store.h"

int unsynced_add(const struct store *store, const char *lid, struct error *err);
int unsynced_list(const struct store *store, struct strv *ids, struct error *err);
/* Takes these out. */
int unsynced_remove(const struct store *store, const struct strv *ids, struct error *err);
/* Whether there is any. One system call. */
bool unsynced_is_any(const struct store *store);

#endif
