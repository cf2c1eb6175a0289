/* Copying what a layer holds: contents with their holes, attributes, whole tops. */
#ifndef WORKSPACE_COPY_H
#define WORKSPACE_COPY_H

#include "workspace/store/sandbox.h"

#include <stdbool.h>
#include <sys/stat.h>

/* The content of regular file FROM to the empty file TO; shared blocks where that works, holes stay. 0, or -1 with errno. */
int copy_content(int from, int to);

/*
 * Owner, extended attributes, mode and times of FROM (both are descriptors, O_PATH ones too) to TO. The overlay's own
 * marks come along but those in SKIP (a NULL-terminated list of names; NULL: none). 0, or -1 with errno.
 */
int copy_attributes(int from, const struct stat *st, int to, const char *const *skip);

/* Makes layer META a copy of the sandbox's top, complete with its record. Whoever could write is frozen. */
int copy_top(const struct sandbox *sandbox, const struct layer_meta *meta, struct error *err);

#endif
