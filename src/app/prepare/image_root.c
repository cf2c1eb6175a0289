/* SPDX-License-Identifier: Apache-2.0 */
/* The image that a run has as its root. */
#include "app/prepare/image_root.h"

#include "base/core/own.h"
#include "workspace/store/image.h"

int image_root_find(const struct request *request, const struct settings *profile,
		    const char *store_path, struct plan_image *ret_image, bool *ret_is_one,
		    struct error *err)
{
	const char *root = request->flags.root ? request->flags.root : profile->root;
	owned(image_done) struct image image;

	image_init(&image);
	*ret_is_one = root && !image_is_no_name(root);
	if (!*ret_is_one)
		return 0;
	(void)image_hold(store_path);
	if (image_read(store_path, root, &image, err) < 0)
		return -1;
	*ret_image = (struct plan_image){ .name = root };
	for (size_t i = image.layers.count; i-- > 0;)
		strv_addf(&ret_image->layers, "%s/images/layers/%s/fs", store_path,
			  image.layers.items[i]);
	strv_copy(&ret_image->env, &image.env);
	strv_copy(&ret_image->entrypoint, &image.entrypoint);
	strv_copy(&ret_image->policy, &image.policy);
	return 0;
}

void image_root_done(struct plan_image *image)
{
	strv_done(&image->layers);
	strv_done(&image->env);
	strv_done(&image->entrypoint);
	strv_done(&image->policy);
}
