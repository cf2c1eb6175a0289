/* SPDX-License-Identifier: Apache-2.0 */
/* The image that a run has as its root. */
#ifndef APP_IMAGE_ROOT_H
#define APP_IMAGE_ROOT_H

#include "plan/plan.h"

/* What the image says that --root names; *ret_is_one: it names one. Its layers stay while this process lives. */
int image_root_find(const struct request *request, const struct settings *profile,
		    const char *store_path, struct plan_image *ret_image, bool *ret_is_one,
		    struct error *err);
void image_root_done(struct plan_image *image);

#endif
