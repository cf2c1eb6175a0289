/* SPDX-License-Identifier: Apache-2.0 */
/* A directory as a tar archive: looked through first, then written; no link is followed. */
#ifndef APP_COPY_PACK_H
#define APP_COPY_PACK_H

#include "app/sandbox/copy_in.h"

/* Counts what there is below DIR_FD, and refuses what cannot be read. PATH names it in errors. */
int pack_survey(int dir_fd, const char *path, struct copied *ret_copied, struct error *err);

/* Writes the archive to OUT_FD, its names relative to DIR_FD. What grew or shrank meanwhile is cut or filled with zeros. */
int pack_write(int dir_fd, const char *path, int out_fd, struct error *err);

#endif
