/* SPDX-License-Identifier: Apache-2.0 */
/* Where images are kept: opened, swept, and what their layers' records say. */
#include "app/image/place.h"

#include "app/sandbox/sandbox.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/tree.h"
#include "host/host.h"
#include "workspace/disk/fields.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_images(struct image_place *place, struct error *err)
{
	static const char *const places[] = { "images", "images/names", "images/layers",
					      "images/drafts" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (mkdirat(place->store.fd, places[i], 0700) < 0 && errno != EEXIST)
			return error_errno(err, ERROR_HOST, "cannot make '%s' in the store",
					   places[i]);
	}
	place->fd =
		openat(place->store.fd, "images", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place->fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the store's images");
	if (store_open_lock_file(place->fd, "lock", &place->lock_fd, err) < 0)
		return -1;
	(void)image_place_sweep(place, NULL);
	if (store_flock(place->lock_fd, LOCK_SH) < 0)
		return error_errno(err, ERROR_HOST, "cannot lock the images");
	return 0;
}

int image_place_open(struct image_place *ret_place, struct error *err)
{
	owned(host_done) struct host host;

	*ret_place = (struct image_place){ .fd = -1, .lock_fd = -1 };
	memset(&host, 0, sizeof(host));
	if (host_read(&host, err) < 0 || app_store(&ret_place->store, err) < 0)
		return -1;
	ret_place->has_store = true;
	/* Its lock is about sandboxes; images have one of their own. */
	store_unlock(&ret_place->store);
	ret_place->keeps_owners = host.privileged && host.root_idmappable;
	return open_images(ret_place, err);
}

void image_place_close(struct image_place *place)
{
	fd_close(&place->lock_fd);
	fd_close(&place->fd);
	if (place->has_store)
		store_close(&place->store);
	place->has_store = false;
}

bool image_place_has(const struct image_place *place, const char *hex)
{
	owned(free_ptr) char *path = xasprintf("layers/%s", hex);
	struct stat st;

	return fstatat(place->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Digests that images name. -1 when one cannot be read: then nothing may go. */
static int find_used(const struct image_place *place, struct strv *used)
{
	owned(strv_done) struct strv names = STRV_INIT;
	struct error ignored;

	if (image_list(place->store.path, &names, &ignored) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		struct image image;

		if (image_read(place->store.path, names.items[i], &image, &ignored) < 0)
			return -1;
		strv_copy(used, &image.layers);
		image_done(&image);
	}
	strv_sort(used);
	return 0;
}

static void sweep_below(const struct image_place *place, const char *below, const struct strv *used,
			struct strv *removed)
{
	owned(dir_close) DIR *dir = dir_open(place->fd, below);
	owned(strv_done) struct strv names = STRV_INIT;
	struct error ignored;
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		if (!used || !strv_has_sorted(used, entry->d_name))
			strv_add(&names, entry->d_name);
	}
	for (size_t i = 0; i < names.count; i++) {
		if (store_trash(&place->store, dirfd(dir), names.items[i], &ignored) == 0 && used &&
		    removed)
			strv_add(removed, names.items[i]);
	}
	if (names.count > 0)
		store_empty_trash(&place->store, false);
}

bool image_place_sweep(const struct image_place *place, struct strv *removed)
{
	owned(strv_done) struct strv used = STRV_INIT;

	if (store_flock(place->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	sweep_below(place, "drafts", NULL, NULL);
	if (find_used(place, &used) < 0)
		return false;
	sweep_below(place, "layers", &used, removed);
	return true;
}

int image_layer_read(const struct image_place *place, const char *hex,
		     struct image_layer *ret_layer, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("layers/%s/layer", hex);
	struct fields fields;

	*ret_layer = (struct image_layer){ 0 };
	if (fields_read(place->fd, path, IMAGE_LAYER_KIND, &fields, err) < 0)
		return error_context(err, "the layer %.12s", hex);
	ret_layer->entries = fields_number(&fields, "entries");
	ret_layer->bytes = fields_number(&fields, "bytes");
	ret_layer->set_ids = fields_number(&fields, "set_ids");
	ret_layer->devices = fields_number(&fields, "devices");
	ret_layer->attributes = fields_number(&fields, "attributes");
	(void)fields_copy(&fields, "tree", ret_layer->tree, sizeof(ret_layer->tree));
	fields_done(&fields);
	return 0;
}

int image_layer_open(const struct image_place *place, const char *hex, int *ret_fd,
		     struct error *err)
{
	owned(free_ptr) char *path = xasprintf("layers/%s/fs", hex);

	*ret_fd = openat(place->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "the layer %.12s", hex) : 0;
}

const char *image_of_sandbox(const struct sandbox *sandbox)
{
	const struct strv *words = &sandbox->settings;

	for (size_t i = 0; i + 1 < words->count; i++) {
		if (strcmp(words->items[i], "--root") == 0)
			return image_is_no_name(words->items[i + 1]) ? NULL : words->items[i + 1];
	}
	return NULL;
}

static void add_config(const struct image *image, struct value *answer)
{
	value_add(answer, "env", value_from_strv(&image->env));
	value_add(answer, "entrypoint", value_from_strv(&image->entrypoint));
	value_add(answer, "directory", value_new_text(image->directory));
	value_add(answer, "user", value_new_text(image->user));
	value_add(answer, "version", value_new_text(image->version));
	value_add(answer, "policy", value_from_strv(&image->policy));
}

int image_to_value(const struct image_place *place, const struct image *image,
		   struct value **ret_value, struct error *err)
{
	struct value *answer, *layers = value_new_list();
	struct image_layer all = { 0 }, one;
	char created[32];

	for (size_t i = 0; i < image->layers.count; i++) {
		if (image_layer_read(place, image->layers.items[i], &one, err) < 0) {
			value_free(layers);
			return -1;
		}
		all.entries += one.entries;
		all.bytes += one.bytes;
		all.set_ids += one.set_ids;
		all.devices += one.devices;
		all.attributes += one.attributes;
		value_append(layers, value_new_text(image->layers.items[i]));
	}
	time_format_utc(image->created_ms, created);
	answer = *ret_value = value_new_map();
	value_add(answer, "name", value_new_text(image->name));
	value_add(answer, "id", value_new_text(image->id));
	value_add(answer, "created", value_new_text(created));
	value_add(answer, "source", value_new_text(image->source));
	value_add(answer, "layers", layers);
	value_add(answer, "entries", value_new_int((int64_t)all.entries));
	value_add(answer, "bytes", value_new_int((int64_t)all.bytes));
	value_add(answer, "owners", value_new_text(place->keeps_owners ? "kept" : "caller"));
	value_add(answer, "set_ids_dropped", value_new_int((int64_t)all.set_ids));
	value_add(answer, "devices_left_out", value_new_int((int64_t)all.devices));
	value_add(answer, "attributes_dropped", value_new_int((int64_t)all.attributes));
	add_config(image, answer);
	return 0;
}
