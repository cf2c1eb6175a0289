/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories outside the store in which promotions of the caller's were prepared, and wait for an undo.
 *
 * No sandbox may see what lies there: a list of them, noted before the first use, forgotten when they are gone.
 */
#ifndef WORKSPACE_STAGING_PLACES_H
#define WORKSPACE_STAGING_PLACES_H

#include "base/core/str.h"
#include "workspace/store/store.h"

/* Of the store at STORE_PATH. Most have no such list; one that cannot be read is as good as none. */
void staging_places_read(const char *store_path, struct strv *ret_places);

/* Notes PLACE unless it is in the store itself or in the list. */
int staging_places_add(const struct store *store, const char *place, struct error *err);

#endif
