/* SPDX-License-Identifier: Apache-2.0 */
/* Layers: their units, what is written down about them, and the chain they form. */
#include "workspace/store/layer.h"

#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "workspace/disk/fields.h"
#include "workspace/store/layer_record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNITS_BYTES_MAX (1u << 20)
#define UNITS_MAX 4096u
#define CHAIN_MAX 500u /* the kernel takes no more either */
#define META_KIND "aisbx-layer 1"

void layer_unit_name(const char *path, char ret_name[static LAYER_UNIT_SIZE])
{
	char hex[SHA256_HEX_SIZE];

	sha256_hex(path, strlen(path), hex);
	(void)snprintf(ret_name, LAYER_UNIT_SIZE, "u-%.16s", hex);
}

bool layer_id_is_valid(const char *lid)
{
	return id_run_epoch_ms(lid) > 0;
}

/* The digest in front also proves that the path came whole. */
static bool parse_unit(const char *record, struct layer_unit *ret_unit)
{
	size_t digits = LAYER_UNIT_SIZE - 3;

	if (strlen(record) < digits + 2 || record[digits] != ' ' || record[digits + 1] != '/')
		return false;
	layer_unit_name(record + digits + 1, ret_unit->name);
	if (memcmp(record, ret_unit->name + 2, digits) != 0)
		return false;
	ret_unit->path = xstrdup(record + digits + 1);
	return true;
}

static bool has_unit(const struct layer_units *units, const char *name)
{
	for (size_t i = 0; i < units->count; i++) {
		if (strcmp(units->items[i].name, name) == 0)
			return true;
	}
	return false;
}

void layer_units_parse(const char *bytes, size_t len, struct layer_units *ret_units)
{
	const char *end = bytes + len;

	*ret_units = (struct layer_units){ 0 };
	for (const char *at = bytes, *stop; at < end; at = stop + 1) {
		struct layer_unit unit;

		stop = memchr(at, '\0', (size_t)(end - at));
		/* What a killed process left unfinished is not there yet. */
		if (!stop || ret_units->count == UNITS_MAX)
			return;
		if (!parse_unit(at, &unit))
			continue;
		if (has_unit(ret_units, unit.name)) {
			free(unit.path);
			continue;
		}
		ret_units->items = xrealloc(ret_units->items, ret_units->count + 1,
					    sizeof(ret_units->items[0]));
		ret_units->items[ret_units->count++] = unit;
	}
}

int layer_units_read(int dir_fd, struct layer_units *ret_units, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	*ret_units = (struct layer_units){ 0 };
	if (fields_read_bytes(dir_fd, "units", UNITS_BYTES_MAX, &text, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	if (text.len > 0)
		layer_units_parse(text.data, text.len, ret_units);
	return 0;
}

void layer_units_done(struct layer_units *units)
{
	for (size_t i = 0; i < units->count; i++)
		free(units->items[i].path);
	free(units->items);
	*units = (struct layer_units){ 0 };
}

int layer_units_add(int dir_fd, const char *path, struct error *err)
{
	owned(layer_units_done) struct layer_units units = { 0 };
	owned(str_done) struct str record = STR_INIT;
	owned(fd_close) int fd = -1;
	char name[LAYER_UNIT_SIZE];

	layer_unit_name(path, name);
	if (layer_units_read(dir_fd, &units, err) < 0)
		return -1;
	if (has_unit(&units, name))
		return 0;
	/* A NUL in front ends what a killed process may have begun; an empty record is none. */
	str_add_char(&record, '\0');
	str_addf(&record, "%s %s", name + 2, path);
	str_add_char(&record, '\0');
	fd = openat(dir_fd, "units",
		    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 || fd_write_all(fd, record.data, record.len) < 0)
		return error_errno(err, ERROR_HOST, "cannot note the unit '%s'", path);
	return 0;
}

void layer_meta_format(const struct layer_meta *meta, struct str *out)
{
	fields_begin(out, META_KIND);
	fields_put(out, "id", meta->id);
	fields_put(out, "parent", meta->parent);
	fields_put(out, "same-as", meta->same_as);
	fields_put(out, "sandbox", meta->sandbox);
	fields_put(out, "boot", meta->boot_id);
	fields_put_number(out, "sealed", meta->sealed_ms);
	fields_put_number(out, "depth", meta->depth);
	fields_put_number(out, "synced", meta->is_synced);
	fields_put_number(out, "user-xattr", meta->user_xattr);
	fields_put_number(out, "on-torn", meta->is_on_torn);
	fields_end(out);
}

int layer_meta_parse(const char *bytes, size_t len, struct layer_meta *ret_meta, struct error *err)
{
	owned(fields_done) struct fields fields = { 0 };
	struct layer_meta meta = { 0 };

	if (fields_parse(bytes, len, META_KIND, &fields, err) < 0)
		return -1;
	if (!fields_copy(&fields, "id", meta.id, sizeof(meta.id)) ||
	    !fields_copy(&fields, "parent", meta.parent, sizeof(meta.parent)) ||
	    !fields_copy(&fields, "same-as", meta.same_as, sizeof(meta.same_as)) ||
	    !fields_copy(&fields, "sandbox", meta.sandbox, sizeof(meta.sandbox)) ||
	    !fields_copy(&fields, "boot", meta.boot_id, sizeof(meta.boot_id)) ||
	    !layer_id_is_valid(meta.id) || (meta.parent[0] && !layer_id_is_valid(meta.parent)) ||
	    strcmp(meta.id, meta.parent) == 0)
		return error_set(err, ERROR_INPUT, "damaged: not the record of a layer");
	meta.sealed_ms = fields_number(&fields, "sealed");
	meta.depth = fields_number(&fields, "depth");
	meta.is_synced = fields_number(&fields, "synced") == 1;
	meta.user_xattr = fields_number(&fields, "user-xattr") == 1;
	meta.is_on_torn = fields_number(&fields, "on-torn") == 1;
	*ret_meta = meta;
	return 0;
}

/* A layer's id comes out of a file, so it is checked before it becomes a path. */
static int layer_path(const char *lid, const char *file, char path[static LAYER_PATH_SIZE],
		      struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (!layer_id_is_valid(lid))
		return error_set(err, ERROR_INPUT, "'%s' is not the id of a layer",
				 str_shown(lid, shown));
	(void)snprintf(path, LAYER_PATH_SIZE, "layers/%s%s", lid, file);
	return 0;
}

int layer_meta_read(const struct store *store, const char *lid, struct layer_meta *ret_meta,
		    struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char path[LAYER_PATH_SIZE];

	if (layer_path(lid, "/meta", path, err) < 0)
		return -1;
	if (fields_read_bytes(store->fd, path, FIELDS_BYTES_MAX, &text, err) < 0)
		return -1;
	if (layer_meta_parse(str_cstr(&text), text.len, ret_meta, err) < 0)
		return error_context(err, "%s", path);
	if (strcmp(ret_meta->id, lid) != 0)
		return error_set(err, ERROR_INPUT, "%s: damaged: it says to be another layer",
				 path);
	return 0;
}

bool layer_is_torn(const struct layer_meta *meta, const char *boot_id)
{
	return meta->is_on_torn || (!meta->is_synced && strcmp(meta->boot_id, boot_id) != 0);
}

int layer_chain_read(const struct store *store, const char *lid, struct layer_chain *ret_chain,
		     struct error *err)
{
	struct layer_chain chain = { 0 };
	char next[LAYER_ID_SIZE];

	(void)snprintf(next, sizeof(next), "%.*s", LAYER_ID_SIZE - 1, lid);
	while (next[0]) {
		if (chain.count == CHAIN_MAX) {
			layer_chain_done(&chain);
			return error_set(err, ERROR_INPUT,
					 "damaged: the layers never come to an end");
		}
		/* Doubled at powers of two. */
		if ((chain.count & (chain.count - 1)) == 0)
			chain.items = xrealloc(chain.items, chain.count ? chain.count * 2 : 1,
					       sizeof(chain.items[0]));
		if (layer_meta_read(store, next, &chain.items[chain.count], err) < 0) {
			layer_chain_done(&chain);
			return -1;
		}
		memcpy(next, chain.items[chain.count++].parent, sizeof(next));
	}
	*ret_chain = chain;
	return 0;
}

void layer_chain_done(struct layer_chain *chain)
{
	free(chain->items);
	*chain = (struct layer_chain){ 0 };
}

size_t layer_chain_common(const struct layer_chain *a, const struct layer_chain *b)
{
	size_t common = 0;

	while (common < a->count && common < b->count &&
	       strcmp(a->items[a->count - 1 - common].id, b->items[b->count - 1 - common].id) == 0)
		common++;
	return common;
}

int layer_open(const struct store *store, const char *lid, int *ret_fd, struct error *err)
{
	char path[LAYER_PATH_SIZE];
	int fd;

	if (layer_path(lid, "", path, err) < 0)
		return -1;
	fd = openat(store->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", path);
	*ret_fd = fd;
	return 0;
}
