/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: roots other than this machine's, as the store keeps them.
 *
 *   images/lock            flock: exclusive while something is removed, shared by imports and by runs that use an image
 *   images/names/NAME      one image: its layers by digest, lowest first, and what its configuration says
 *   images/layers/HEX/fs   a layer as the overlay takes it; HEX is the digest of the archive that it was unpacked from
 *   images/layers/HEX/layer its record: what of the archive was left out, and the digest of what was unpacked
 *   images/drafts/         what imports are at; goes with the process that makes it
 *
 * A layer appears whole, by a rename, and never changes. An image's name stands for the same content until it is removed.
 */
#ifndef WORKSPACE_IMAGE_H
#define WORKSPACE_IMAGE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/hash/sha256.h"

#include <stdbool.h>
#include <stdint.h>

/* Layers of one image; the kernel takes 500, and each costs at every lookup. */
#define IMAGE_LAYERS_MAX 127 /* as SPEC_IMAGE_LAYERS_MAX */
#define IMAGE_KIND "aisbx-image 1"
#define IMAGE_LAYER_KIND "aisbx-image-layer 1"

struct image {
	char *name;
	char id[SHA256_HEX_SIZE]; /* of its layers and its configuration */
	uint64_t created_ms;
	char *source;	    /* the last part of the file's name that it was imported from */
	struct strv layers; /* digests, lowest first */
	/* Of its configuration. */
	struct strv env, entrypoint;
	char *directory, *user; /* shown, not followed: a run is in its workspace, as its caller */
	char *version;		/* shown */
	struct strv policy;	/* what narrows every run on it, as words: plan/image_policy.h */
};

void image_init(struct image *image);
void image_done(struct image *image);

/* What a run gives as --root, and may therefore not be the name of an image. */
bool image_is_no_name(const char *root);
/* As of a sandbox, and none of the words above. */
int image_check_name(const char *name, struct error *err);

/*
 * Keeps what is removed from being removed while this process lives, once it is called. For processes that use layers by
 * their paths. STORE_PATH: of the store. -1 with errno; ENOENT: there are no images.
 */
int image_hold(const char *store_path);

/* Reads the image NAME of the store at STORE_PATH. ERROR_NOT_FOUND says which there are. */
int image_read(const char *store_path, const char *name, struct image *ret_image,
	       struct error *err);

/* The image as its file holds it. */
void image_format(const struct image *image, struct str *text);

/* Names of images, sorted. None is no error. */
int image_list(const char *store_path, struct strv *ret_names, struct error *err);

#endif
