/* SPDX-License-Identifier: Apache-2.0 */
/* Images listed, shown, checked and removed. */
#include "app/image/image.h"

#include "app/image/layer_tar.h"
#include "app/image/place.h"
#include "app/sandbox/sandbox.h"
#include "base/core/own.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int app_image_list(struct value **ret_list, struct error *err)
{
	owned(image_place_close) struct image_place place;
	owned(strv_done) struct strv names = STRV_INIT;
	owned(value_release) struct value *list = value_new_list();

	if (image_place_open(&place, err) < 0 || image_list(place.store.path, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		struct value *row = NULL;
		struct image image;
		int status = image_read(place.store.path, names.items[i], &image, err);

		if (status == 0)
			status = image_to_value(&place, &image, &row, err);
		image_done(&image);
		/* One that is damaged does not hide the others. */
		if (status < 0) {
			row = value_new_map();
			value_add(row, "name", value_new_text(names.items[i]));
			value_add(row, "error", value_new_text(err->text));
		}
		value_append(list, row);
	}
	*ret_list = ptr_take(&list);
	return 0;
}

int app_image_show(const char *name, struct value **ret_answer, struct error *err)
{
	owned(image_place_close) struct image_place place;
	owned(image_done) struct image image;

	image_init(&image);
	if (image_place_open(&place, err) < 0 ||
	    image_read(place.store.path, name, &image, err) < 0)
		return -1;
	return image_to_value(&place, &image, ret_answer, err);
}

/* A sandbox that was made with --root NAME; owned by the caller, NULL: none. */
static char *find_user(const struct store *store, const char *name)
{
	owned(strv_done) struct strv names = STRV_INIT;
	char *user = NULL;
	struct error ignored;

	(void)sandbox_list(store, &names, &ignored);
	for (size_t i = 0; !user && i < names.count; i++) {
		struct sandbox sandbox;

		if (sandbox_open(store, names.items[i], SANDBOX_UNLOCKED, &sandbox, &ignored) < 0)
			continue;
		if (str_same(image_of_sandbox(&sandbox), name))
			user = xstrdup(names.items[i]);
		sandbox_close(&sandbox);
	}
	return user;
}

static int check_unused(const struct image_place *place, const char *name, struct error *err)
{
	owned(image_done) struct image image;
	owned(free_ptr) char *user = NULL;

	image_init(&image);
	/* One that is damaged can be removed. */
	if (image_read(place->store.path, name, &image, err) < 0 && err->code != ERROR_INPUT)
		return -1;
	user = find_user(&place->store, name);
	if (!user)
		return 0;
	error_set(err, ERROR_DENIED, "the sandbox '%s' runs on the image '%s'", user, name);
	return error_add_hint(err, "aisbx rm %s first", user);
}

int app_image_remove(const struct strv *names, struct value **ret_list, struct error *err)
{
	owned(image_place_close) struct image_place place;
	owned(value_release) struct value *list = value_new_list();

	if (image_place_open(&place, err) < 0)
		return -1;
	for (size_t i = 0; i < names->count; i++) {
		if (check_unused(&place, names->items[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < names->count; i++) {
		owned(free_ptr) char *path = xasprintf("names/%s", names->items[i]);

		if (unlinkat(place.fd, path, 0) < 0 && errno != ENOENT)
			return error_errno(err, ERROR_HOST, "cannot remove the image '%s'",
					   names->items[i]);
		value_add(value_append(list, value_new_map()), "name",
			  value_new_text(names->items[i]));
	}
	/* What a run still uses goes with the next verb about images. */
	(void)image_place_sweep(&place, NULL);
	*ret_list = ptr_take(&list);
	return 0;
}

/* "whole", "changed" or "missing"; NULL with an error. */
static const char *state_of(const struct image_place *place, const char *hex, struct error *err)
{
	struct image_layer layer;
	owned(fd_close) int fd = -1;
	char tree[SHA256_HEX_SIZE];

	if (!image_place_has(place, hex))
		return "missing";
	if (image_layer_read(place, hex, &layer, err) < 0 ||
	    image_layer_open(place, hex, &fd, err) < 0)
		return "changed";
	if (layer_digest(fd, place->keeps_owners, tree, err) < 0)
		return err->code == ERROR_HOST ? NULL : "changed";
	return strcmp(tree, layer.tree) == 0 ? "whole" : "changed";
}

static int verify(const struct image_place *place, const char *name, struct value *list,
		  struct error *err)
{
	owned(image_done) struct image image;

	image_init(&image);
	if (image_read(place->store.path, name, &image, err) < 0)
		return -1;
	for (size_t i = 0; i < image.layers.count; i++) {
		const char *state = state_of(place, image.layers.items[i], err);
		struct value *row;

		if (!state)
			return -1;
		row = value_append(list, value_new_map());
		value_add(row, "name", value_new_text(name));
		value_add(row, "layer", value_new_text(image.layers.items[i]));
		value_add(row, "state", value_new_text(state));
	}
	return 0;
}

int app_image_verify(const struct strv *names, struct value **ret_list, struct error *err)
{
	owned(image_place_close) struct image_place place;
	owned(strv_done) struct strv all = STRV_INIT;
	owned(value_release) struct value *list = value_new_list();

	if (image_place_open(&place, err) < 0 ||
	    (names->count == 0 && image_list(place.store.path, &all, err) < 0))
		return -1;
	strv_copy(&all, names);
	for (size_t i = 0; i < all.count; i++) {
		if (verify(&place, all.items[i], list, err) < 0)
			return -1;
	}
	*ret_list = ptr_take(&list);
	return 0;
}

int app_image_gc(struct value **ret_list, struct error *err)
{
	owned(image_place_close) struct image_place place;
	owned(strv_done) struct strv removed = STRV_INIT;

	if (image_place_open(&place, err) < 0)
		return -1;
	if (!image_place_sweep(&place, &removed))
		return error_advise(err, ERROR_BUSY, "run it again when they have ended",
				    "images are in use: by runs, or by an import");
	*ret_list = value_new_list();
	for (size_t i = 0; i < removed.count; i++)
		value_add(value_append(*ret_list, value_new_map()), "layer",
			  value_new_text(removed.items[i]));
	return 0;
}
