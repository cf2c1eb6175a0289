/* SPDX-License-Identifier: Apache-2.0 */
/* Images of the store: their records, read and written. */
#include "workspace/store/image.h"

#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/text/suggest.h"
#include "workspace/disk/fields.h"
#include "workspace/store/sandbox.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void image_init(struct image *image)
{
	*image = (struct image){
		.layers = STRV_INIT, .env = STRV_INIT, .entrypoint = STRV_INIT, .policy = STRV_INIT
	};
}

void image_done(struct image *image)
{
	free(image->name);
	free(image->source);
	free(image->directory);
	free(image->user);
	free(image->version);
	strv_done(&image->layers);
	strv_done(&image->env);
	strv_done(&image->entrypoint);
	strv_done(&image->policy);
	image_init(image);
}

bool image_is_no_name(const char *root)
{
	return strcmp(root, "host") == 0 || strcmp(root, "project") == 0;
}

int image_check_name(const char *name, struct error *err)
{
	if (image_is_no_name(name))
		return error_set(err, ERROR_USAGE,
				 "no image can be called '%s': --root has another use for it",
				 name);
	return sandbox_check_name(name, err);
}

int image_hold(const char *store_path)
{
	/* Held by the process: every run of its own needs it, and none may end it for another. */
	static int held_fd = -1;
	owned(free_ptr) char *path = xasprintf("%s/images/lock", store_path);
	owned(fd_close) int fd = -1;

	if (held_fd >= 0)
		return 0;
	fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || store_flock(fd, LOCK_SH) < 0)
		return -1;
	held_fd = fd_take(&fd);
	return 0;
}

static void take_text(const struct fields *fields, const char *key, char **ret_text)
{
	const char *value = fields_get(fields, key);

	*ret_text = *value ? xstrdup(value) : NULL;
}

static int fill(const struct fields *fields, struct image *image, struct error *err)
{
	const struct {
		const char *key;
		struct strv *list;
	} lists[] = {
		{ "layer", &image->layers },
		{ "env", &image->env },
		{ "entrypoint", &image->entrypoint },
		{ "policy", &image->policy },
	};

	for (size_t i = 0; i < fields->count; i++) {
		for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
			if (strcmp(fields->items[i].key, lists[j].key) == 0)
				strv_add(lists[j].list, fields->items[i].value);
		}
	}
	image->created_ms = fields_number(fields, "created");
	take_text(fields, "source", &image->source);
	take_text(fields, "directory", &image->directory);
	take_text(fields, "user", &image->user);
	take_text(fields, "version", &image->version);
	for (size_t i = 0; i < image->layers.count; i++) {
		if (!sha256_is_hex(image->layers.items[i]))
			return error_set(err, ERROR_INPUT, "a layer's digest is damaged");
	}
	if (image->layers.count == 0 || image->layers.count > IMAGE_LAYERS_MAX ||
	    !fields_copy(fields, "id", image->id, sizeof(image->id)))
		return error_set(err, ERROR_INPUT, "it is damaged");
	return 0;
}

static int not_found(const char *store_path, const char *name, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	struct error ignored;
	const char *best;

	(void)image_list(store_path, &names, &ignored);
	error_set(err, ERROR_NOT_FOUND, "there is no image '%.63s'", name);
	best = names.items ? suggest_of(name, (const char *const *)names.items) : NULL;
	if (best)
		return error_add_hint(err, "did you mean '%s'?", best);
	return error_add_hint(err, "import one: aisbx image import FILE --name NAME");
}

int image_read(const char *store_path, const char *name, struct image *ret_image, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/images/names/%s", store_path, name);
	struct fields fields;
	int status;

	image_init(ret_image);
	if (image_check_name(name, err) < 0)
		return -1;
	if (fields_read(AT_FDCWD, path, IMAGE_KIND, &fields, err) < 0) {
		if (err->code == ERROR_NOT_FOUND)
			return not_found(store_path, name, err);
		return error_context(err, "the image '%s'", name);
	}
	status = fill(&fields, ret_image, err);
	fields_done(&fields);
	if (status < 0) {
		image_done(ret_image);
		return error_context(err, "the image '%s'", name);
	}
	ret_image->name = xstrdup(name);
	return 0;
}

static void put_list(struct str *text, const char *key, const struct strv *list)
{
	for (size_t i = 0; i < list->count; i++)
		fields_put(text, key, list->items[i]);
}

void image_format(const struct image *image, struct str *text)
{
	fields_begin(text, IMAGE_KIND);
	fields_put(text, "id", image->id);
	fields_put_number(text, "created", image->created_ms);
	put_list(text, "layer", &image->layers);
	put_list(text, "env", &image->env);
	put_list(text, "entrypoint", &image->entrypoint);
	put_list(text, "policy", &image->policy);
	fields_put(text, "source", image->source ? image->source : "");
	fields_put(text, "directory", image->directory ? image->directory : "");
	fields_put(text, "user", image->user ? image->user : "");
	/* Not where there is none: images keep the id that they have. */
	if (image->version)
		fields_put(text, "version", image->version);
	fields_end(text);
}

int image_list(const char *store_path, struct strv *ret_names, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/images/names", store_path);
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, path);
	struct error ignored;
	struct dirent *entry;
	int more;

	if (!dir && errno == ENOENT)
		return 0;
	while ((more = dir_next(dir, &entry)) > 0) {
		if (image_check_name(entry->d_name, &ignored) == 0)
			strv_add(ret_names, entry->d_name);
	}
	if (more < 0)
		return error_errno(err, ERROR_HOST, "cannot list the images");
	strv_sort(ret_names);
	return 0;
}
