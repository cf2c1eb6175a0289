/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-images imported. */
#include "app/image/import.h"

#include "app/image/pseudo.h"
#include "base/core/own.h"
#include "spec/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The layers of the base come first; what it says holds, too, and its policy can only become narrower. */
static int take_base(struct import *import, const struct pseudo *pseudo, struct error *err)
{
	struct image *image = &import->image;
	owned(image_done) struct image base;

	image_init(&base);
	if (!pseudo->base)
		return 0;
	if (image_read(import->place.store.path, pseudo->base, &base, err) < 0)
		return error_context(err, "'base'");
	if (pseudo->base_id[0] && strcmp(pseudo->base_id, base.id) != 0)
		return error_set(err, ERROR_CONFLICT,
				 "'base': the image '%s' here is another one than is meant",
				 pseudo->base);
	strv_copy(&image->layers, &base.layers);
	strv_copy(&image->env, &base.env);
	strv_copy(&image->policy, &base.policy);
	if (pseudo->entrypoint.count == 0)
		strv_copy(&image->entrypoint, &base.entrypoint);
	return 0;
}

static int take_policy(struct import *import, int dir_fd, const struct pseudo *pseudo,
		       struct error *err)
{
	struct oci_blob blob = { .path = (char[]){ PSEUDO_POLICY } };
	owned(str_done) struct str text = STR_INIT;
	struct stat st;

	memcpy(blob.digest, pseudo->policy, sizeof(blob.digest));
	/* One that is named and missing would be a wider image. */
	if (!blob.digest[0] && fstatat(dir_fd, PSEUDO_POLICY, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT)
		return 0;
	if (import_read(dir_fd, &blob, &text, err) < 0 ||
	    pseudo_read_policy(str_cstr(&text), text.len, &import->image.policy, err) < 0)
		return -1;
	return pseudo_settle_policy(&import->image.policy, err);
}

static int take_words(struct import *import, struct pseudo *pseudo, struct error *err)
{
	struct image *image = &import->image;

	for (size_t i = 0; i < pseudo->env.count; i++)
		settings_add_env(&image->env, pseudo->env.items[i]);
	strv_copy(&image->entrypoint, &pseudo->entrypoint);
	image->version = pseudo->version;
	pseudo->version = NULL;
	if (import->is_named || !pseudo->name)
		return 0;
	free(image->name);
	image->name = xstrdup(pseudo->name);
	return image_check_name(image->name, err);
}

int import_pseudo(struct import *import, int dir_fd, struct error *err)
{
	const struct oci_blob blob = { .path = (char[]){ PSEUDO_FILE } };
	owned(pseudo_done) struct pseudo pseudo = { .name = NULL };
	owned(str_done) struct str text = STR_INIT;

	if (import_read(dir_fd, &blob, &text, err) < 0 ||
	    pseudo_read(str_cstr(&text), text.len, &pseudo, err) < 0 ||
	    take_base(import, &pseudo, err) < 0 || take_words(import, &pseudo, err) < 0 ||
	    take_policy(import, dir_fd, &pseudo, err) < 0)
		return -1;
	if (import->image.layers.count + pseudo.manifest.layer_count > IMAGE_LAYERS_MAX)
		return error_set(err, ERROR_INPUT, "more than %d layers", IMAGE_LAYERS_MAX);
	for (size_t i = 0; i < pseudo.manifest.layer_count; i++) {
		if (import_layer(import, dir_fd, &pseudo.manifest.layers[i], err) < 0)
			return error_context(err, "layer %zu", i + 1);
	}
	return 0;
}
