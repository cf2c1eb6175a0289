/* SPDX-License-Identifier: Apache-2.0 */
/* An import under way: shared among the files that read the forms of images. */
#ifndef IMAGE_IMPORT_H
#define IMAGE_IMPORT_H

#include "app/image/oci.h"
#include "app/image/place.h"
#include "base/process/tmp_dir.h"

struct import {
	struct image_place place;
	struct tmp_dir draft;
	struct image image;
	bool is_named; /* by the caller; else an image's own word counts */
	void (*progress)(const char *what);
};

/* A small part below DIR_FD, checked as the bytes that are then read. */
int import_read(int dir_fd, const struct oci_blob *blob, struct str *ret_text, struct error *err);

/* One more layer on top. */
int import_layer(struct import *import, int dir_fd, const struct oci_blob *blob, struct error *err);

/* A pseudo-image at DIR_FD. */
int import_pseudo(struct import *import, int dir_fd, struct error *err);

#endif
