/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writable layers on disk, for kernels whose tmpfs cannot hold them.
 *
 * A plain user's overlays mark directories with attributes of the user.* kind, which tmpfs has from 6.6 on; without
 * them no directory of the host could be deleted or renamed inside. There the layers are a directory of the state
 * directory: named after the run, locked as long as any process of the sandbox lives, removed by the janitor.
 * Such a layer has no size limit of its own; the run watches it.
 */
#ifndef LAUNCH_STORAGE_H
#define LAUNCH_STORAGE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "spec/spec.h"

#include <stdbool.h>

/* Whether this kernel's tmpfs has what a plain user's layers need. */
bool storage_fits_tmpfs(void);

/*
 * Makes the directory where one is needed and locks it. The caller owns *ret_path and *ret_fd; they are NULL and -1
 * when a tmpfs will do.
 */
int storage_make(const struct spec *spec, char **ret_path, int *ret_fd, struct error *err);

/* Opens and locks it once more: init needs a descriptor of its own mount namespace. */
int storage_open(const char *path, int *ret_fd, struct error *err);

/* Removes the directory at PATH (may be NULL) with all that was written, and what killed runs left beside it. */
void storage_remove(const char *path);

/* Removes those whose processes are all gone, and adds their paths to *removed. */
void storage_sweep(const char *state_dir, struct strv *removed);

#endif
