/* SPDX-License-Identifier: Apache-2.0 */
/* Roots other than this machine's: imported, shown, given away, removed. Only in the program with libraries. */
#ifndef APP_IMAGE_H
#define APP_IMAGE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

struct app_image_import {
	const char *path; /* a root's archive, an OCI layout, a Docker archive, a pseudo-image */
	const char *name; /* NULL: that of the file */
	void (*progress)(const char *what); /* NULL: not told */
};

/* {name, id, layers, bytes, ...} as app_image_show has it; `was_there` when it was imported before. */
int app_image_import(const struct app_image_import *wish, struct value **ret_answer,
		     struct error *err);

/*
 * A new image: that of SANDBOX, which was made with --root, and what was changed since outside of its workspace as one more
 * layer. The same changes have the same digest.
 */
int app_image_pack(const char *sandbox, const char *name, struct value **ret_answer,
		   struct error *err);

/* One object for each image, sorted by name. */
int app_image_list(struct value **ret_list, struct error *err);
int app_image_show(const char *name, struct value **ret_answer, struct error *err);

/* Forgets them; refused for one that a sandbox was made with. Layers that no image has left go as well. */
int app_image_remove(const struct strv *names, struct value **ret_list, struct error *err);

/* {name, layer, state} for each layer of the images named, or of all: whole, changed, missing. */
int app_image_verify(const struct strv *names, struct value **ret_list, struct error *err);

/* Removes layers that no image has, and what killed imports left; {layer} for each. */
int app_image_gc(struct value **ret_list, struct error *err);

/* An OCI layout or a pseudo-image in the new directory PATH, or one archive at the new file PATH. */
enum image_form { IMAGE_OCI, IMAGE_PSEUDO, IMAGE_TAR };
int app_image_export(const char *name, const char *path, enum image_form form,
		     struct value **ret_answer, struct error *err);

#endif
