/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's masks as steps of mounting. */
#ifndef DRIVER_COPIED_MASKS_H
#define DRIVER_COPIED_MASKS_H

#include "base/core/error.h"
#include "spec/spec.h"

enum copied_mask {
	COPIED_EMPTY,	  /* a directory: a new one, empty */
	COPIED_HIDE,	  /* a file: an empty one */
	COPIED_KEEP,	  /* a directory in one that was emptied: the host's, read-only */
	COPIED_KEEP_FILE, /* the same for a file */
};

typedef int copied_mask_step(enum copied_mask mask, const char *path, void *cookie,
			     struct error *err);

/* Calls STEP for each, parents first, over a tree that is all of this machine. Links are left: they lead to what is masked itself. */
int copied_masks(const struct spec *spec, copied_mask_step *step, void *cookie, struct error *err);

#endif
