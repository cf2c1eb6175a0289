/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of an archive written and read back. */
#include "app/archive/pack.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/file/zstd.h"
#include "base/text/json_write.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PACK_BYTES (UINT64_C(32) << 20)
#define PACK_ITEMS 8192u
#define COPY_BYTES ((size_t)256 << 10)

struct pack {
	struct archive_place *place;
	struct archive_self *self;
	struct archive_draft draft;
	struct zstd_out *out;
	struct value *items;
	struct value *item; /* the one under way */
	struct sha256 sum;
	uint64_t item_bytes, raw_bytes;
};

void pack_release(struct pack **slot)
{
	struct pack *pack = *slot;

	if (!pack)
		return;
	zstd_out_release(&pack->out);
	archive_draft_done(&pack->draft);
	value_release(&pack->items);
	free_ptr(slot);
}

int pack_open(struct archive_place *place, struct archive_self *self, struct pack **ret_pack,
	      struct error *err)
{
	owned(pack_release) struct pack *pack = xcalloc(1, sizeof(*pack));

	pack->place = place;
	pack->self = self;
	pack->draft.fd = -1;
	pack->items = value_new_list();
	if (place->calls->draft(place, &pack->draft, err) < 0 ||
	    zstd_out_open(pack->draft.fd, &pack->out, err) < 0)
		return -1;
	*ret_pack = ptr_take(&pack);
	return 0;
}

void pack_begin(struct pack *pack, enum archive_kind kind, const char *id)
{
	pack->item = value_append(pack->items, value_new_map());
	value_add(pack->item, "kind", value_new_text(archive_kind_name(kind)));
	value_add(pack->item, "id", value_new_text(id));
	sha256_start(&pack->sum);
	pack->item_bytes = 0;
}

int pack_add(struct pack *pack, const void *bytes, size_t len, struct error *err)
{
	sha256_add(&pack->sum, bytes, len);
	pack->item_bytes += len;
	return zstd_out_add(pack->out, bytes, len, err) < 0
		       ? error_context(err, "the archive %s", pack->place->url)
		       : 0;
}

int pack_add_fd(struct pack *pack, int fd, struct error *err)
{
	owned(free_ptr) char *buffer = xmalloc(COPY_BYTES);
	off_t at = 0;
	ssize_t got;

	while ((got = fd_read_at(fd, buffer, COPY_BYTES, at)) > 0) {
		if (pack_add(pack, buffer, (size_t)got, err) < 0)
			return -1;
		at += got;
	}
	return got < 0 ? error_errno(err, ERROR_HOST, "cannot read what is to be archived") : 0;
}

uint64_t pack_end(struct pack *pack)
{
	char sha256[SHA256_HEX_SIZE];

	sha256_end(&pack->sum, sha256);
	value_add(pack->item, "size", value_new_int((int64_t)pack->item_bytes));
	value_add(pack->item, "sha256", value_new_text(sha256));
	pack->raw_bytes += pack->item_bytes;
	return pack->item_bytes;
}

bool pack_is_full(const struct pack *pack)
{
	return pack->raw_bytes >= PACK_BYTES || pack->items->many.count >= PACK_ITEMS;
}

/* The manifest's text, and its name. */
static char *write_manifest(struct pack *pack, const char *object, uint64_t bytes,
			    struct str *ret_text, char ret_sha256[static SHA256_HEX_SIZE])
{
	owned(value_release) struct value *tree = value_new_map();
	char made[32];

	time_format_utc(clock_epoch_ms(), made);
	value_add(tree, "aisbx_archive", value_new_int(1));
	value_add(tree, "machine", value_new_text(pack->self->machine));
	value_add(tree, "made", value_new_text(made));
	value_add(tree, "prev", value_new_text(*pack->self->last ? pack->self->last : NULL));
	value_add(tree, "object", value_new_text(object));
	value_add(tree, "bytes", value_new_int((int64_t)bytes));
	value_add(tree, "raw_bytes", value_new_int((int64_t)pack->raw_bytes));
	value_add(tree, "items", ptr_take(&pack->items));
	json_write(ret_text, tree, 0);
	str_add_char(ret_text, '\n');
	sha256_hex(ret_text->data, ret_text->len, ret_sha256);
	return xasprintf(ARCHIVE_MANIFESTS "/%.10s/%s.json", made, ret_sha256);
}

static int put_manifest(struct pack *pack, const char *object, uint64_t bytes, struct error *err)
{
	struct archive_place *place = pack->place;
	owned(archive_draft_done) struct archive_draft draft = { .fd = -1 };
	owned(archive_manifest_done) struct archive_manifest manifest = { 0 };
	owned(str_done) struct str text = STR_INIT;
	char sha256[SHA256_HEX_SIZE];
	owned(free_ptr) char *name = write_manifest(pack, object, bytes, &text, sha256);

	/* What no reader would accept must not be all that is left of what it names. */
	if (archive_manifest_read(text.data, text.len, &manifest, err) < 0)
		return error_context(err, "a manifest for %s", place->url);
	if (place->calls->draft(place, &draft, err) < 0)
		return -1;
	if (fd_write_all(draft.fd, text.data, text.len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write to the archive %s", place->url);
	if (place->calls->put(place, &draft, name, sha256, err) < 0)
		return -1;
	memcpy(pack->self->last, sha256, SHA256_HEX_SIZE);
	return archive_self_write(pack->self, err);
}

int pack_seal(struct pack *pack, uint64_t *stored, struct error *err)
{
	char sha256[SHA256_HEX_SIZE];
	owned(free_ptr) char *name = NULL;
	uint64_t bytes;
	struct stat st;

	if (zstd_out_end(pack->out, err) < 0)
		return error_context(err, "the archive %s", pack->place->url);
	if (fstat(pack->draft.fd, &st) < 0 || sha256_fd(pack->draft.fd, sha256) < 0)
		return error_errno(err, ERROR_HOST, "the archive %s", pack->place->url);
	bytes = (uint64_t)st.st_size;
	if (!archive_ratio_is_fine(bytes, pack->raw_bytes))
		return error_set(err, ERROR_DENIED,
				 "%" PRIu64 " bytes compress to %" PRIu64
				 ": no archive takes that back",
				 pack->raw_bytes, bytes);
	name = xasprintf(ARCHIVE_OBJECTS "/%s.zst", sha256);
	if (pack->place->calls->put(pack->place, &pack->draft, name, sha256, err) < 0 ||
	    put_manifest(pack, sha256, bytes, err) < 0)
		return -1;
	*stored += bytes;
	return 0;
}

int pack_manifest(struct archive_place *place, const char *name,
		  struct archive_manifest *ret_manifest, struct error *err)
{
	owned(free_ptr) char *whole = xasprintf(ARCHIVE_MANIFESTS "/%s", name);
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;
	char sha256[SHA256_HEX_SIZE];

	if (place->calls->get(place, whole, MANIFEST_BYTES_MAX, &fd, err) < 0)
		return -1;
	if (fd_read_all(fd, MANIFEST_BYTES_MAX, &text) < 0)
		return error_errno(err, ERROR_HOST, "cannot read '%s'", whole);
	sha256_hex(str_cstr(&text), text.len, sha256);
	if (strncmp(strchr(name, '/') + 1, sha256, SHA256_HEX_SIZE - 1) != 0)
		return error_set(err, ERROR_INPUT,
				 "'%s' is damaged: it holds other bytes than its name says", whole);
	if (archive_manifest_read(text.data, text.len, ret_manifest, err) < 0)
		return error_context(err, "'%s'", whole);
	if (strncmp(ret_manifest->made, name, strlen("2026-11-18")) == 0)
		return 0;
	archive_manifest_done(ret_manifest);
	return error_set(err, ERROR_INPUT, "'%s' is of another day than its place says", whole);
}

/* One item's bytes out of the stream into TO_FD, held to its digest. */
static int unpack_item(struct zstd_in *in, const struct archive_entry *item, int to_fd,
		       char *buffer, struct error *err)
{
	char found[SHA256_HEX_SIZE];
	struct sha256 sum;
	ssize_t got;

	sha256_start(&sum);
	for (uint64_t left = item->size; left > 0; left -= (uint64_t)got) {
		got = zstd_in_read(in, buffer, left < COPY_BYTES ? (size_t)left : COPY_BYTES, err);
		if (got < 0)
			return -1;
		if (got == 0)
			return error_set(err, ERROR_INPUT, "less is in it than its manifest says");
		sha256_add(&sum, buffer, (size_t)got);
		if (to_fd >= 0 && fd_write_all(to_fd, buffer, (size_t)got) < 0)
			return error_errno(err, ERROR_HOST, "cannot unpack");
	}
	sha256_end(&sum, found);
	return strcmp(found, item->sha256) == 0
		       ? 0
		       : error_set(err, ERROR_INPUT, "%s %s has other bytes than its manifest says",
				   archive_kind_name(item->kind), item->id);
}

static int unpack_all(int fd, const struct archive_manifest *manifest, int to_fd, struct error *err)
{
	owned(zstd_in_release) struct zstd_in *in = NULL;
	owned(free_ptr) char *buffer = xmalloc(COPY_BYTES);
	ssize_t more;

	if (zstd_in_open(fd, &in, err) < 0)
		return -1;
	for (size_t i = 0; i < manifest->count; i++)
		if (unpack_item(in, &manifest->items[i], to_fd, buffer, err) < 0)
			return -1;
	more = zstd_in_read(in, buffer, 1, err);
	if (more < 0)
		return -1;
	return more > 0 ? error_set(err, ERROR_INPUT, "more is in it than its manifest says") : 0;
}

int pack_unpack(struct archive_place *place, const struct archive_manifest *manifest, int to_fd,
		struct error *err)
{
	owned(free_ptr) char *name = xasprintf(ARCHIVE_OBJECTS "/%s.zst", manifest->object);
	owned(fd_close) int fd = -1;
	char sha256[SHA256_HEX_SIZE];

	if (place->calls->get(place, name, manifest->bytes, &fd, err) < 0)
		return -1;
	if (sha256_fd(fd, sha256) < 0)
		return error_errno(err, ERROR_HOST, "cannot read '%s'", name);
	if (strcmp(sha256, manifest->object) != 0)
		return error_set(err, ERROR_INPUT,
				 "'%s' is damaged: it holds other bytes than its name says", name);
	if (lseek(fd, 0, SEEK_SET) < 0 || unpack_all(fd, manifest, to_fd, err) < 0)
		return error_context(err, "'%s'", name);
	return 0;
}
