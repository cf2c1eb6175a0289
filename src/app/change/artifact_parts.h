/* SPDX-License-Identifier: Apache-2.0 */
/* What saving and getting artifacts share. Private to app. */
#ifndef APP_ARTIFACT_PARTS_H
#define APP_ARTIFACT_PARTS_H

#include "app/change/artifact.h"
#include "workspace/store/store.h"

#include <stdint.h>

/* artifacts/ of the store. The caller owns *ret_fd. */
int artifact_directory(const struct store *store, int *ret_fd, struct error *err);

/* Names of all, newest first. */
int artifact_names(int dir_fd, struct strv *ret_names, struct error *err);

int artifact_read(int dir_fd, const char *name, struct value **ret_record, struct error *err);

/* The one whose name begins with PREFIX. */
int artifact_find(int dir_fd, const char *prefix, struct value **ret_record, struct error *err);

/* What an owner has saved, and may save at most. */
struct artifact_room {
	uint64_t bytes, bytes_max;
	size_t count;
};

/* Counts what OWNER (NULL: a person) has. The caller holds the directory's lock until its records are written. */
int artifact_room_read(int dir_fd, const char *owner, uint64_t bytes_max,
		       struct artifact_room *ret_room, struct error *err);
/* Room for BYTES more; ERROR_DENIED names what to remove. */
int artifact_room_take(struct artifact_room *room, uint64_t bytes, struct error *err);

/* The raw path of a record or an entry (workspace_add_path), owned; NULL when it has none. */
char *artifact_path(const struct value *row);

#endif
