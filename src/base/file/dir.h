/* SPDX-License-Identifier: Apache-2.0 */
/* What a directory holds, read by descriptor; the directory itself and its parent are never among it. */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <dirent.h>

/*
 * Opens NAME below DIR_FD for reading; with ".", DIR_FD itself once more, also when it is only a path, and with an
 * offset of its own. A link is not followed. NULL with errno.
 */
DIR *dir_open(int dir_fd, const char *name);

/* As dir_open, of a directory that is open for reading already: the descriptor is the DIR's from then on. */
DIR *dir_take(int *fd);

/*
 * 1 and the next entry, 0 after the last one, -1 with errno. A DIR that could not be opened (NULL) is a failure, too.
 * The entry lives until the next call.
 */
int dir_next(DIR *dir, struct dirent **ret_entry);

/* Makes the absolute PATH and what is missing above it, for its owner alone. 0, or -1 with errno. */
int dir_make_all(const char *path);

/* Cleanup for owned(dir_close) DIR *dir; errno survives. */
void dir_close(DIR **dir);

#endif
