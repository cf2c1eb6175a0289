/* SPDX-License-Identifier: Apache-2.0 */
/* Reading manifests, which any machine may have written. */
#include "app/archive/manifest.h"

#include "base/core/clock.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/text/json_read.h"

#include <string.h>

#define VERSION 1

static const char *const names[ARCHIVE_KINDS] = { "run", "log" };

const char *archive_kind_name(enum archive_kind kind)
{
	return names[kind];
}

bool archive_ratio_is_fine(uint64_t bytes, uint64_t raw_bytes)
{
	return raw_bytes <= MANIFEST_FREE_BYTES || raw_bytes / MANIFEST_RATIO_MAX <= bytes;
}

void archive_manifest_done(struct archive_manifest *manifest)
{
	value_release(&manifest->tree);
	free(manifest->items);
	manifest->items = NULL;
}

static bool is_digest(const char *text)
{
	return text && strlen(text) == SHA256_HEX_SIZE - 1 && sha256_is_hex(text);
}

bool archive_is_id(const char *id)
{
	return strlen(id) == ID_RUN_SIZE - 1 && id_run_epoch_ms(id) > 0;
}

static int read_item(const struct value *row, struct archive_entry *ret_item, struct error *err)
{
	const char *kind = value_get_text(row, "kind");
	int64_t size;

	*ret_item = (struct archive_entry){ .id = value_get_text(row, "id"),
					    .sha256 = value_get_text(row, "sha256") };
	while (kind && ret_item->kind < ARCHIVE_KINDS && strcmp(names[ret_item->kind], kind) != 0)
		ret_item->kind++;
	if (!kind || ret_item->kind == ARCHIVE_KINDS)
		return error_set(err, ERROR_INPUT, "an item of no known kind");
	if (!ret_item->id || !archive_is_id(ret_item->id))
		return error_set(err, ERROR_INPUT, "an item without an id of its kind");
	if (!is_digest(ret_item->sha256) || !value_get_int(row, "size", &size) || size < 0)
		return error_set(err, ERROR_INPUT, "an item without its size or digest");
	ret_item->size = (uint64_t)size;
	return 0;
}

static int read_items(struct archive_manifest *manifest, struct error *err)
{
	const struct value *list = value_get(manifest->tree, "items");
	uint64_t at = 0;

	if (!list || list->kind != VALUE_LIST || list->many.count == 0 ||
	    list->many.count > MANIFEST_ITEMS_MAX)
		return error_set(err, ERROR_INPUT, "no list of items, or too long a one");
	manifest->items = xcalloc(list->many.count, sizeof(manifest->items[0]));
	for (; manifest->count < list->many.count; manifest->count++) {
		struct archive_entry *item = &manifest->items[manifest->count];

		if (read_item(list->many.items[manifest->count], item, err) < 0)
			return -1;
		item->at = at;
		if (item->size > manifest->raw_bytes - at)
			break;
		at += item->size;
	}
	return at == manifest->raw_bytes && manifest->count == list->many.count
		       ? 0
		       : error_set(err, ERROR_INPUT, "the sizes of its items do not add up");
}

static int read_head(struct archive_manifest *manifest, struct error *err)
{
	const struct value *tree = manifest->tree;
	int64_t version, bytes = -1, raw = -1;
	uint64_t made_ms;

	if (!value_get_int(tree, "aisbx_archive", &version))
		return error_set(err, ERROR_INPUT, "this is no manifest of an archive");
	if (version != VERSION)
		return error_advise(err, ERROR_INPUT, "use that one",
				    "a newer aisbx wrote it (format %lld)", (long long)version);
	manifest->machine = value_get_text(tree, "machine");
	manifest->made = value_get_text(tree, "made");
	manifest->prev = value_get_text(tree, "prev");
	manifest->object = value_get_text(tree, "object");
	if (!is_digest(manifest->machine) || !is_digest(manifest->object) ||
	    (manifest->prev && !is_digest(manifest->prev)) || !manifest->made ||
	    !time_parse_utc(manifest->made, &made_ms))
		return error_set(err, ERROR_INPUT, "its machine, time or digests are none");
	if (!value_get_int(tree, "bytes", &bytes) || !value_get_int(tree, "raw_bytes", &raw) ||
	    bytes < 0 || raw < 0)
		return error_set(err, ERROR_INPUT, "its sizes are missing");
	manifest->bytes = (uint64_t)bytes;
	manifest->raw_bytes = (uint64_t)raw;
	return archive_ratio_is_fine(manifest->bytes, manifest->raw_bytes)
		       ? 0
		       : error_set(
				 err, ERROR_INPUT,
				 "its object would grow more than %u times: this may be an attack",
				 MANIFEST_RATIO_MAX);
}

int archive_manifest_read(const char *text, size_t len, struct archive_manifest *ret_manifest,
			  struct error *err)
{
	const struct json_limits limits = { .bytes = MANIFEST_BYTES_MAX,
					    .depth = 4,
					    .values = MANIFEST_ITEMS_MAX * 8 };

	*ret_manifest = (struct archive_manifest){ 0 };
	if (json_read(text, len, &limits, &ret_manifest->tree, err) == 0 &&
	    (ret_manifest->tree->kind == VALUE_MAP ||
	     error_set(err, ERROR_INPUT, "this is no manifest of an archive") == 0) &&
	    read_head(ret_manifest, err) == 0 && read_items(ret_manifest, err) == 0)
		return 0;
	archive_manifest_done(ret_manifest);
	return -1;
}
