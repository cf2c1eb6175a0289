/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a layer, reached by descriptors alone: no link is followed, no mount is entered. */
#ifndef WORKSPACE_LOWER_H
#define WORKSPACE_LOWER_H

#include <sys/stat.h>

/* The directory a layer lies on, for looking things up in it; -1 when there is none or a link leads to it. */
int lower_open_root(const char *path);

/*
 * Entry NAME of directory DIR_FD, for asking only; -1 when there is none, a mount lies on it, or DIR_FD is -1.
 * Waits for no automounter.
 */
int lower_open(int dir_fd, const char *name, struct stat *ret_st);

/* As lower_open, for directories only. */
int lower_open_directory(int dir_fd, const char *name);

/* Directory PATH below ROOT_FD, name by name. */
int lower_open_path(int root_fd, const char *path);

/* The regular file NAME for which lower_open returned ST, for reading; -1 when another one took its place. */
int lower_open_file(int dir_fd, const char *name, const struct stat *st);

#endif
