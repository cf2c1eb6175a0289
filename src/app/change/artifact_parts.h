/* What saving and getting artifacts share. Private to the engine. */
#ifndef ENGINE_ARTIFACT_PARTS_H
#define ENGINE_ARTIFACT_PARTS_H

#include "app/change/artifact.h"
#include "workspace/store/store.h"

/* artifacts/ of the store. The caller owns *ret_fd. */
int artifact_directory(const struct store *store, int *ret_fd, struct error *err);

/* Names of all, newest first. */
int artifact_names(int dir_fd, struct strv *ret_names, struct error *err);

int artifact_read(int dir_fd, const char *name, struct value **ret_record, struct error *err);

/* The one whose name begins with PREFIX. */
int artifact_find(int dir_fd, const char *prefix, struct value **ret_record, struct error *err);

/* The raw path of a record or an entry (workspace_add_path), owned; NULL when it has none. */
char *artifact_path(const struct value *row);

#endif
