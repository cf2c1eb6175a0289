/* SPDX-License-Identifier: Apache-2.0 */
/* Images as others write them, read. Nothing here opens a file; every text is a stranger's. */
#include "app/image/oci.h"

#include "base/core/own.h"
#include "base/text/json_read.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_BYTES_MAX 65536u
#define SIZE_MAX_BYTES (INT64_C(64) << 30)

static const char *const layer_types[] = {
	"application/vnd.oci.image.layer.v1.tar",
	"application/vnd.oci.image.layer.v1.tar+gzip",
	"application/vnd.oci.image.layer.v1.tar+zstd",
	"application/vnd.docker.image.rootfs.diff.tar",
	"application/vnd.docker.image.rootfs.diff.tar.gzip",
	NULL,
};

static const char *const index_types[] = {
	"application/vnd.oci.image.index.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json",
	NULL,
};

static const char *const manifest_types[] = {
	"application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.v2+json",
	NULL,
};

static bool is_one_of(const char *const *names, const char *name)
{
	while (*names && (!name || strcmp(*names, name) != 0))
		names++;
	return *names;
}

const char *oci_architecture(void)
{
#if defined(__aarch64__)
	return "arm64";
#else
	return "amd64";
#endif
}

void oci_manifest_done(struct oci_manifest *manifest)
{
	free(manifest->config.path);
	for (size_t i = 0; i < manifest->layer_count; i++)
		free(manifest->layers[i].path);
	*manifest = (struct oci_manifest){ 0 };
}

static int read_json(const char *bytes, size_t len, enum value_kind kind, struct value **ret,
		     struct error *err)
{
	static const struct json_limits limits = { .bytes = OCI_JSON_MAX,
						   .depth = 24,
						   .values = 100000 };

	if (json_read(bytes, len, &limits, ret, err) < 0)
		return -1;
	if ((*ret)->kind == kind)
		return 0;
	value_free(*ret);
	*ret = NULL;
	return error_set(err, ERROR_INPUT, "not what an image has there");
}

/* {"digest":"sha256:HEX","size":N}, as the file blobs/sha256/HEX. */
static int read_blob(const struct value *item, struct oci_blob *ret_blob, struct error *err)
{
	const char *digest =
		item && item->kind == VALUE_MAP ? value_get_text(item, "digest") : NULL;
	int64_t size = item && item->kind == VALUE_MAP ? value_int_of(item, "size") : 0;
	const char *hex = digest && str_starts(digest, "sha256:") ? digest + 7 : "";

	if (!sha256_is_hex(hex) || size <= 0 || size > SIZE_MAX_BYTES)
		return error_set(err, ERROR_INPUT,
				 "a part without a digest (sha256) and a size that can be");
	memcpy(ret_blob->digest, hex, SHA256_HEX_SIZE);
	ret_blob->size = (uint64_t)size;
	ret_blob->path = xasprintf("blobs/sha256/%s", hex);
	return 0;
}

/* Whether what PLATFORM says is this machine; what says nothing is for any. */
static bool suits(const struct value *platform)
{
	const char *architecture, *system;

	if (!platform || platform->kind != VALUE_MAP)
		return true;
	architecture = value_get_text(platform, "architecture");
	system = value_get_text(platform, "os");
	return (!architecture || strcmp(architecture, oci_architecture()) == 0) &&
	       (!system || strcmp(system, "linux") == 0);
}

int oci_read_index(const char *bytes, size_t len, struct oci_blob *ret_blob, bool *ret_is_index,
		   struct error *err)
{
	owned(value_release) struct value *index = NULL;
	const struct value *list, *found = NULL;
	size_t count = 0;

	*ret_blob = (struct oci_blob){ 0 };
	if (read_json(bytes, len, VALUE_MAP, &index, err) < 0)
		return -1;
	list = value_get(index, "manifests");
	for (size_t i = 0; list && list->kind == VALUE_LIST && i < list->many.count; i++) {
		const struct value *item = list->many.items[i];
		const char *type;

		if (item->kind != VALUE_MAP || !suits(value_get(item, "platform")))
			continue;
		type = value_get_text(item, "mediaType");
		if (!is_one_of(index_types, type) && !is_one_of(manifest_types, type))
			continue;
		found = item;
		count++;
	}
	if (count == 0)
		return error_set(err, ERROR_INPUT, "no image for %s in it", oci_architecture());
	if (count > 1)
		return error_set(err, ERROR_INPUT, "%zu images in it: one at a time", count);
	*ret_is_index = is_one_of(index_types, value_get_text(found, "mediaType"));
	return read_blob(found, ret_blob, err);
}

static int read_layers(const struct value *list, struct oci_manifest *manifest, struct error *err)
{
	if (!list || list->kind != VALUE_LIST || list->many.count == 0 ||
	    list->many.count > IMAGE_LAYERS_MAX)
		return error_set(err, ERROR_INPUT, "no layers, or more than %d", IMAGE_LAYERS_MAX);
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *item = list->many.items[i];

		if (item->kind != VALUE_MAP ||
		    !is_one_of(layer_types, value_get_text(item, "mediaType")))
			return error_set(err, ERROR_INPUT, "a layer of a kind that is not known");
		if (read_blob(item, &manifest->layers[i], err) < 0)
			return -1;
		manifest->layer_count++;
	}
	return 0;
}

int oci_read_manifest(const char *bytes, size_t len, struct oci_manifest *ret_manifest,
		      struct error *err)
{
	owned(value_release) struct value *manifest = NULL;
	const char *type;

	*ret_manifest = (struct oci_manifest){ 0 };
	if (read_json(bytes, len, VALUE_MAP, &manifest, err) < 0)
		return -1;
	type = value_get_text(manifest, "mediaType");
	if ((type && !is_one_of(manifest_types, type)) || value_get(manifest, "manifests"))
		return error_set(err, ERROR_INPUT, "a manifest is wanted, this is something else");
	if (read_blob(value_get(manifest, "config"), &ret_manifest->config, err) == 0 &&
	    read_layers(value_get(manifest, "layers"), ret_manifest, err) == 0)
		return 0;
	oci_manifest_done(ret_manifest);
	return -1;
}

/* A name in Docker's archive: below it, and plain. */
static int read_name(const struct value *item, char **ret_path, struct error *err)
{
	if (!item || item->kind != VALUE_TEXT || !item->text.len || item->text.len > 512 ||
	    item->text.bytes[0] == '/' || strstr(item->text.bytes, ".."))
		return error_set(err, ERROR_INPUT, "a part without a name that can be");
	*ret_path = xstrdup(item->text.bytes);
	return 0;
}

int oci_read_docker(const char *bytes, size_t len, struct oci_manifest *ret_manifest,
		    struct error *err)
{
	owned(value_release) struct value *list = NULL;
	const struct value *image, *layers;
	int status;

	*ret_manifest = (struct oci_manifest){ 0 };
	if (read_json(bytes, len, VALUE_LIST, &list, err) < 0)
		return -1;
	if (list->many.count != 1 || list->many.items[0]->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "%zu images in it: one at a time",
				 list->many.count);
	image = list->many.items[0];
	layers = value_get(image, "Layers");
	if (!layers || layers->kind != VALUE_LIST || layers->many.count == 0 ||
	    layers->many.count > IMAGE_LAYERS_MAX)
		return error_set(err, ERROR_INPUT, "no layers, or more than %d", IMAGE_LAYERS_MAX);
	status = read_name(value_get(image, "Config"), &ret_manifest->config.path, err);
	for (size_t i = 0; status == 0 && i < layers->many.count; i++) {
		ret_manifest->layer_count++;
		status = read_name(layers->many.items[i], &ret_manifest->layers[i].path, err);
	}
	if (status < 0)
		oci_manifest_done(ret_manifest);
	return status;
}

int oci_add_words(const struct value *config, const char *key, size_t most, struct strv *words,
		  struct error *err)
{
	const struct value *list = value_get(config, key);
	size_t bytes = 0;

	if (!list || list->kind == VALUE_NULL)
		return 0;
	if (list->kind != VALUE_LIST || list->many.count > most)
		return error_set(err, ERROR_INPUT, "%s: not a list, or of more than %zu", key,
				 most);
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *item = list->many.items[i];

		bytes += item->kind == VALUE_TEXT ? item->text.len : 0;
		if (item->kind != VALUE_TEXT || bytes > WORDS_BYTES_MAX)
			return error_set(err, ERROR_INPUT, "%s: not texts, or too long", key);
		strv_add(words, item->text.bytes);
	}
	return 0;
}

static int add_text(const struct value *config, const char *key, char **ret_text, struct error *err)
{
	const char *text = value_get_text(config, key);

	if (text && strlen(text) > 4096)
		return error_set(err, ERROR_INPUT, "%s: too long", key);
	if (text && *text)
		*ret_text = xstrdup(text);
	return 0;
}

int oci_check_env(const struct strv *env, struct error *err)
{
	for (size_t i = 0; i < env->count; i++) {
		if (!strchr(env->items[i], '=') || env->items[i][0] == '=')
			return error_set(err, ERROR_INPUT, "Env: not NAME=VALUE");
	}
	return 0;
}

int oci_read_config(const char *bytes, size_t len, struct image *image, struct error *err)
{
	owned(value_release) struct value *whole = NULL;
	const struct value *config;

	if (read_json(bytes, len, VALUE_MAP, &whole, err) < 0)
		return -1;
	if (!suits(whole))
		return error_set(err, ERROR_INPUT, "it is not for %s", oci_architecture());
	config = value_get(whole, "config");
	if (!config || config->kind != VALUE_MAP)
		return 0;
	if (oci_add_words(config, "Env", OCI_ENV_MAX, &image->env, err) < 0 ||
	    oci_add_words(config, "Entrypoint", OCI_WORDS_MAX, &image->entrypoint, err) < 0 ||
	    oci_add_words(config, "Cmd", OCI_WORDS_MAX, &image->entrypoint, err) < 0 ||
	    add_text(config, "WorkingDir", &image->directory, err) < 0 ||
	    add_text(config, "User", &image->user, err) < 0)
		return -1;
	return oci_check_env(&image->env, err);
}
