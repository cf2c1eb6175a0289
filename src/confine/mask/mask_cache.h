/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finished mask layers, kept between the runs of a root caller.
 *
 * A mask is some forty directories; making it anew costs more than any other part of a start but the network
 * namespace. It only depends on the list of masks and on the directories they lie in: a change of an entry changes its
 * parent's ctime. So a layer is named by a digest of both and found again as long as nothing has changed. Layers lie in
 * /run/aisbx-masks or /dev/shm/aisbx-masks, whichever is a tmpfs (a layer on the root filesystem could not be stacked
 * on it); only root can enter, and they are gone with the next boot. A layer is never altered once it has its
 * name, and never removed while a sandbox uses it, which would then see what it hides: each holds a lock on its own.
 */
#ifndef CONFINE_MASK_CACHE_H
#define CONFINE_MASK_CACHE_H

#include "base/hash/sha256.h"
#include "base/core/str.h"
#include "confine/mask/mask.h"

#define MASK_CACHE_NAME "aisbx-masks"

/*
 * Opens the layer for what lies at LIKE's path, making it when it is not there. Returns a descriptor that the caller
 * owns; its files have the host's own ids. -1 when there is no place for it or no certainty: then the layer has to be
 * made for this run alone.
 */
int mask_cache_open(const struct spec *spec, const struct mask_layer *like);

/* What that layer is called. False when something it depends on changed so lately that it could change again unseen. */
bool mask_cache_name(const struct spec *spec, const struct mask_layer *like,
		     char ret_name[static SHA256_HEX_SIZE]);

/* Removes what dead runs left unfinished, and adds the paths to *removed. Finished layers may be in use, and stay. */
void mask_cache_sweep(struct strv *removed);

#endif
