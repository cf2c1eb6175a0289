/* SPDX-License-Identifier: Apache-2.0 */
/* Copying one file by descriptor: contents with their holes, attributes. */
#ifndef WORKSPACE_COPY_FILE_H
#define WORKSPACE_COPY_FILE_H

#include <sys/stat.h>

/* The content of regular file FROM to the empty file TO; shared blocks where that works, holes stay. 0, or -1 with errno. */
int copy_content(int from, int to);

/*
 * Owner, extended attributes, mode and times of FROM (both are descriptors, O_PATH ones too) to TO. The overlay's own
 * marks come along but those in SKIP (a NULL-terminated list of names; NULL: none). 0, or -1 with errno.
 */
int copy_attributes(int from, const struct stat *st, int to, const char *const *skip);

#endif
