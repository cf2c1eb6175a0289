/* SPDX-License-Identifier: Apache-2.0 */
/* Where images are kept, open for a verb: shared among the files of this folder. */
#ifndef IMAGE_PLACE_H
#define IMAGE_PLACE_H

#include "base/core/str.h"
#include "base/core/value.h"
#include "workspace/store/image.h"
#include "workspace/store/sandbox.h"
#include "workspace/store/store.h"

struct image_place {
	struct store store;
	bool has_store;
	int fd;		   /* images/ */
	int lock_fd;	   /* held shared */
	bool keeps_owners; /* files belong to the ids of their archive, which runs show shifted */
};

/* Opens it, making it on first use, and removes what killed imports left. */
int image_place_open(struct image_place *ret_place, struct error *err);
void image_place_close(struct image_place *place);

/* images/layers/HEX, or what is below it; owned by the caller. */
bool image_place_has(const struct image_place *place, const char *hex);

/*
 * Removes layers that no image names, and drafts without a process; adds the digests. Nothing where something of it is in use:
 * then false.
 */
bool image_place_sweep(const struct image_place *place, struct strv *removed);

/* What a layer's record holds. */
struct image_layer {
	uint64_t entries, bytes, set_ids, devices, attributes;
	char tree[SHA256_HEX_SIZE]; /* digest of the archive that layer_tar makes of it */
};

int image_layer_read(const struct image_place *place, const char *hex,
		     struct image_layer *ret_layer, struct error *err);
/* Opens images/layers/HEX/fs. */
int image_layer_open(const struct image_place *place, const char *hex, int *ret_fd,
		     struct error *err);

/* The image that SANDBOX was made with, by name; NULL: none. */
const char *image_of_sandbox(const struct sandbox *sandbox);

/* The image as its object. */
int image_to_value(const struct image_place *place, const struct image *image,
		   struct value **ret_value, struct error *err);

#endif
