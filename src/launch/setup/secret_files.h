/* SPDX-License-Identifier: Apache-2.0 */
/* The secrets of a sandbox as it sees them: files below /run/secrets that only its user can read, in memory only. */
#ifndef LAUNCH_SECRET_FILES_H
#define LAUNCH_SECRET_FILES_H

#include "base/core/error.h"
#include "base/hash/secrets.h"

/* Behind the root's change: where the directory is, if it still is ours. The caller closes it. */
int secret_files_open(int *ret_dir_fd, struct error *err);

/* Writes them anew, one file each, but for those that are variables. */
int secret_files_put(int dir_fd, const struct secrets *secrets, struct error *err);

#endif
