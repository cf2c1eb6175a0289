/* SPDX-License-Identifier: Apache-2.0 */
/* Masks: what a directory of the layer shows of itself. Private to mask. */
#ifndef CONFINE_MASK_METADATA_H
#define CONFINE_MASK_METADATA_H

#include "confine/mask/mask.h"

#include <stddef.h>
#include <sys/stat.h>

/*
 * A name for BELOW that needs no directory: extended attributes have no call that takes one. 0, or -1 when it is too
 * long.
 */
int mask_name(const struct mask_layer *layer, const char *below, char *out, size_t size);

/* Owner and mode of ST for BELOW, just made with mode 0755. */
int mask_copy_owner(const struct mask_layer *layer, const struct stat *st, const char *below,
		    struct error *err);

void mask_copy_times(const struct mask_layer *layer, const struct stat *st, const char *below);

#endif
