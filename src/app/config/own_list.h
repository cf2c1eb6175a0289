/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small lists of lines that the user keeps in a directory of their own: replaced as a whole by rename, so that a reader
 * sees the old one or the new one.
 */
#ifndef APP_OWN_LIST_H
#define APP_OWN_LIST_H

#include "base/core/str.h"

/*
 * The caller's own list, and no other user's; empty when there is none. 0, or -1 with errno: EPERM for a file that is
 * another's, or that others may write.
 */
int own_list_read(int dir_fd, const char *name, struct str *ret_text);

/* The caller holds a lock on the directory. 0, or -1 with errno. */
int own_list_replace(int dir_fd, const char *name, const struct str *text);

#endif
