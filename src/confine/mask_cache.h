/*
 * Finished mask layers, kept between the runs of a root caller.
 *
 * A mask is some forty directories; making it anew costs more than any other part of a start but the network
 * namespace. It only depends on the list of masks and on the directories they lie in: a change of an entry changes its
 * parent's ctime. So a layer is named by a hash over both and found again as long as nothing has changed. Layers lie on
 * a tmpfs of the host (a layer on the root filesystem could not be stacked on it), in a directory that only root can
 * enter, and are gone with the next boot. A layer is never altered once it has its name: sandboxes may be using it.
 */
#ifndef CONFINE_MASK_CACHE_H
#define CONFINE_MASK_CACHE_H

#include "confine/mask.h"

/*
 * Opens the layer for what lies at LIKE's path, making it when it is not there. Returns a descriptor that the caller
 * owns; its files have the host's own ids. -1 when there is no place for it or no certainty: then the layer has to be made for this run alone.
 */
int mask_cache_open(const struct spec *spec, const struct mask_layer *like);

#endif
