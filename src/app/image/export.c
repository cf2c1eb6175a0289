/* SPDX-License-Identifier: Apache-2.0 */
/* Images given away: as an OCI layout, or as one archive of all that a run on them sees. The same content has the same digest. */
#include "app/image/image.h"

#include "app/image/layer_tar.h"
#include "app/image/oci.h"
#include "app/image/place.h"
#include "app/image/pseudo.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/file/tree.h"
#include "base/text/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TYPE(name) "application/vnd.oci.image." name

struct export
{
	struct image_place place;
	struct image image;
	enum image_form form;
	int dir_fd; /* of the layout or the pseudo-image; -1 */
};

static void export_done(struct export *export)
{
	image_place_close(&export->place);
	image_done(&export->image);
	fd_close(&export->dir_fd);
}

static int make_file(int dir_fd, const char *path, int *ret_fd, struct error *err)
{
	*ret_fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return *ret_fd < 0 ? error_errno(err, ERROR_INPUT, "%s", path) : 0;
}

static int write_text(const struct export *export, const char *path, const struct str *text,
		      struct error *err)
{
	owned(fd_close) int fd = -1;

	if (make_file(export->dir_fd, path, &fd, err) < 0)
		return -1;
	return fd_write_all(fd, text->data, text->len) < 0
		       ? error_errno(err, ERROR_HOST, "%s", path)
		       : 0;
}

static struct value *descriptor(const char *type, const char *hex, uint64_t size)
{
	struct value *item = value_new_map();
	owned(free_ptr) char *digest = xasprintf("sha256:%s", hex);

	value_add(item, "mediaType", value_new_text(type));
	value_add(item, "digest", value_new_text(digest));
	value_add(item, "size", value_new_int((int64_t)size));
	return item;
}

/* Writes VALUE as a blob, and returns its descriptor; NULL with an error. */
static struct value *put_blob(const struct export *export, const char *type,
			      const struct value *value, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *path = NULL;
	char hex[SHA256_HEX_SIZE];

	json_write(&text, value, 0);
	sha256_hex(text.data, text.len, hex);
	path = xasprintf("blobs/sha256/%s", hex);
	return write_text(export, path, &text, err) < 0 ? NULL : descriptor(type, hex, text.len);
}

/* A layer as it was unpacked, by its digest; one that has been changed since is none. *RET_BYTES: its size. */
static int write_layer(const struct export *export, const char *hex,
		       char ret_digest[static SHA256_HEX_SIZE], uint64_t *ret_bytes,
		       struct error *err)
{
	struct image_layer layer;
	owned(free_ptr) char *path = NULL;
	owned(fd_close) int fd = -1, to_fd = -1;

	if (image_layer_read(&export->place, hex, &layer, err) < 0 ||
	    image_layer_open(&export->place, hex, &fd, err) < 0)
		return -1;
	path = xasprintf(export->form == IMAGE_OCI ? "blobs/sha256/%s" : "layers/%s.tar",
			 layer.tree);
	/* Two layers with the same content are one file. */
	if (make_file(export->dir_fd, path, &to_fd, err) < 0 && err->errnum != EEXIST)
		return -1;
	const struct layer_tar how = { &fd, 1, false, export->place.keeps_owners, to_fd };

	if (layer_tar(&how, ret_digest, ret_bytes, err) < 0)
		return -1;
	if (strcmp(ret_digest, layer.tree) != 0)
		return error_advise(err, ERROR_INPUT, "image rm it, and import it again",
				    "the layer %.12s has been changed since it was unpacked", hex);
	return 0;
}

static int put_layer(const struct export *export, const char *hex, struct value *layers,
		     struct value *digests, struct error *err)
{
	char written[SHA256_HEX_SIZE];
	uint64_t bytes;

	if (write_layer(export, hex, written, &bytes, err) < 0)
		return -1;
	value_append(layers, descriptor(TYPE("layer.v1.tar"), written, bytes));
	owned(free_ptr) char *digest = xasprintf("sha256:%s", written);

	value_append(digests, value_new_text(digest));
	return 0;
}

/* No time in it: when something was imported is not what it is. */
static struct value *config_of(const struct image *image, struct value *digests)
{
	struct value *whole = value_new_map(), *config = value_new_map(), *root = value_new_map();

	if (image->env.count > 0)
		value_add(config, "Env", value_from_strv(&image->env));
	if (image->entrypoint.count > 0)
		value_add(config, "Entrypoint", value_from_strv(&image->entrypoint));
	if (image->directory)
		value_add(config, "WorkingDir", value_new_text(image->directory));
	if (image->user)
		value_add(config, "User", value_new_text(image->user));
	value_add(root, "type", value_new_text("layers"));
	value_add(root, "diff_ids", digests);
	value_add(whole, "architecture", value_new_text(oci_architecture()));
	value_add(whole, "os", value_new_text("linux"));
	value_add(whole, "config", config);
	value_add(whole, "rootfs", root);
	return whole;
}

static int put_index(const struct export *export, struct value *manifest, struct error *err)
{
	owned(value_release) struct value *index = value_new_map();
	owned(str_done) struct str text = STR_INIT, mark = STR_INIT;
	struct value *notes = value_new_map();

	value_add(notes, "org.opencontainers.image.ref.name", value_new_text(export->image.name));
	value_add(manifest, "annotations", notes);
	value_add(index, "schemaVersion", value_new_int(2));
	value_add(index, "mediaType", value_new_text(TYPE("index.v1+json")));
	value_append(value_add(index, "manifests", value_new_list()), manifest);
	json_write(&text, index, 0);
	str_add(&mark, "{\"imageLayoutVersion\":\"1.0.0\"}");
	if (write_text(export, "oci-layout", &mark, err) < 0)
		return -1;
	return write_text(export, "index.json", &text, err);
}

static int export_oci(const struct export *export, char **ret_digest, struct error *err)
{
	owned(value_release) struct value *manifest = value_new_map(), *config = NULL;
	struct value *layers = value_new_list(), *digests = value_new_list(), *item;
	int status = 0;

	if (mkdirat(export->dir_fd, "blobs", 0755) < 0 ||
	    mkdirat(export->dir_fd, "blobs/sha256", 0755) < 0)
		status = error_errno(err, ERROR_HOST, "blobs");
	for (size_t i = 0; status == 0 && i < export->image.layers.count; i++)
		status = put_layer(export, export->image.layers.items[i], layers, digests, err);
	config = config_of(&export->image, digests);
	item = status < 0 ? NULL : put_blob(export, TYPE("config.v1+json"), config, err);
	value_add(manifest, "schemaVersion", value_new_int(2));
	value_add(manifest, "mediaType", value_new_text(TYPE("manifest.v1+json")));
	value_add(manifest, "config", item ? item : value_new_null());
	value_add(manifest, "layers", layers);
	if (!item)
		return -1;
	item = put_blob(export, TYPE("manifest.v1+json"), manifest, err);
	if (!item)
		return -1;
	*ret_digest = xstrdup(value_get_text(item, "digest"));
	return put_index(export, item, err);
}

static int export_pseudo(const struct export *export, char **ret_digest, struct error *err)
{
	owned(strv_done) struct strv layers = STRV_INIT;
	owned(str_done) struct str yaml = STR_INIT, policy = STR_INIT;
	char hex[SHA256_HEX_SIZE];
	uint64_t bytes;

	if (mkdirat(export->dir_fd, "layers", 0755) < 0)
		return error_errno(err, ERROR_HOST, "layers");
	for (size_t i = 0; i < export->image.layers.count; i++) {
		if (write_layer(export, export->image.layers.items[i], hex, &bytes, err) < 0)
			return -1;
		strv_add(&layers, hex);
	}
	pseudo_write(&export->image, &layers, &yaml, &policy);
	if (policy.len && write_text(export, PSEUDO_POLICY, &policy, err) < 0)
		return -1;
	/* It names all the others by their digests. */
	sha256_hex(yaml.data, yaml.len, hex);
	*ret_digest = xasprintf("sha256:%s", hex);
	return write_text(export, PSEUDO_FILE, &yaml, err);
}

static int export_tar(const struct export *export, int to_fd, char **ret_digest, struct error *err)
{
	const struct strv *layers = &export->image.layers;
	int fds[IMAGE_LAYERS_MAX];
	size_t count = 0;
	char hex[SHA256_HEX_SIZE];
	uint64_t bytes;
	int status = 0;

	for (size_t i = layers->count; status == 0 && i-- > 0;) {
		status = image_layer_open(&export->place, layers->items[i], &fds[count], err);
		count += status == 0;
	}
	const struct layer_tar how = { fds, count, true, export->place.keeps_owners, to_fd };

	if (status == 0)
		status = layer_tar(&how, hex, &bytes, err);
	while (count > 0)
		close(fds[--count]);
	if (status == 0)
		*ret_digest = xasprintf("sha256:%s", hex);
	return status;
}

static int export_to(struct export *export, const char *path, char **ret_digest, struct error *err)
{
	owned(fd_close) int fd = -1;
	int status;

	if (export->form == IMAGE_TAR) {
		if (make_file(AT_FDCWD, path, &fd, err) < 0)
			return -1;
		status = export_tar(export, fd, ret_digest, err);
		if (status < 0)
			(void)unlink(path);
		return status;
	}
	if (mkdir(path, 0755) < 0)
		return error_errno(err, ERROR_INPUT, "%s", path);
	export->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (export->dir_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	status = export->form == IMAGE_OCI ? export_oci(export, ret_digest, err)
					   : export_pseudo(export, ret_digest, err);
	if (status < 0)
		(void)tree_remove(AT_FDCWD, path);
	return status;
}

int app_image_export(const char *name, const char *path, enum image_form form,
		     struct value **ret_answer, struct error *err)
{
	owned(export_done) struct export export = { .place = { .fd = -1, .lock_fd = -1 },
						    .form = form,
						    .dir_fd = -1 };
	owned(free_ptr) char *digest = NULL;

	image_init(&export.image);
	if (image_place_open(&export.place, err) < 0 ||
	    image_read(export.place.store.path, name, &export.image, err) < 0 ||
	    export_to(&export, path, &digest, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "name", value_new_text(name));
	value_add(*ret_answer, "path", value_new_text(path));
	value_add(*ret_answer, "digest", value_new_text(digest));
	return 0;
}
