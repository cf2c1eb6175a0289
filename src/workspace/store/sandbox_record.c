/* SPDX-License-Identifier: Apache-2.0 */
/* How sandboxes are written down: what never changes in `meta`, what does in `head`. */
#include "workspace/store/sandbox_record.h"

#include "base/core/clock.h"
#include "base/hash/crc32c.h"
#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/store_parts.h"

#include <inttypes.h>
#include <string.h>

#define META_KIND "aisbx-sandbox 1"
#define HEAD_KIND "aisbx-head 1"
#define HEAD_SIZE 512u
#define HEAD_PAD "pad "
#define HEAD_CHECK "check "
#define HEAD_CHECK_SIZE (sizeof(HEAD_CHECK "01234567\nend\n") - 1)
#define HEAD_TRIES 10u

void sandbox_meta_format(const struct sandbox *sandbox, struct str *out)
{
	fields_begin(out, META_KIND);
	fields_put(out, "id", sandbox->id);
	fields_put_number(out, "created", sandbox->created_ms);
	fields_put(out, "workspace", sandbox->workspace);
	fields_put(out, "root", sandbox->root);
	if (sandbox->owner)
		fields_put(out, "owner", sandbox->owner);
	for (size_t i = 0; i < sandbox->settings.count; i++)
		fields_put(out, "setting", sandbox->settings.items[i]);
	fields_end(out);
}

int sandbox_meta_parse(const char *bytes, size_t len, struct sandbox *sandbox, struct error *err)
{
	owned(fields_done) struct fields fields = { 0 };

	if (fields_parse(bytes, len, META_KIND, &fields, err) < 0)
		return -1;
	if (!fields_copy(&fields, "id", sandbox->id, sizeof(sandbox->id)) ||
	    !layer_id_is_valid(sandbox->id) || fields_get(&fields, "workspace")[0] != '/')
		return error_set(err, ERROR_INPUT, "damaged: not the record of a sandbox");
	sandbox->created_ms = fields_number(&fields, "created");
	sandbox->workspace = xstrdup(fields_get(&fields, "workspace"));
	sandbox->root = xstrdup(fields_get(&fields, "root"));
	for (size_t i = 0; i < fields.count; i++) {
		if (strcmp(fields.items[i].key, "setting") == 0)
			strv_add(&sandbox->settings, fields.items[i].value);
		else if (strcmp(fields.items[i].key, "owner") == 0 && !sandbox->owner)
			sandbox->owner = xstrdup(fields.items[i].value);
	}
	return 0;
}

/*
 * The head is written over in place, which costs a tenth of making a file to replace it: always of one length, so that it
 * stays within a sector, and with a checksum, for concurrent readers.
 */
void sandbox_head_format(const struct sandbox *sandbox, struct str *out)
{
	size_t len;

	fields_begin(out, HEAD_KIND);
	fields_put(out, "layer", sandbox->head);
	fields_put(out, "at", sandbox->at);
	fields_put_number(out, "last-snap", sandbox->last_snap);
	fields_put_number(out, "last-auto", sandbox->last_auto);
	fields_put_number(out, "expires", sandbox->expires_ms);
	fields_put_number(out, "base", sandbox->base_ns);
	str_addf(out, "clock-offset %" PRId64 "\n", sandbox->clock_offset_ns);
	fields_put(out, "base-boot", sandbox->base_boot_id);
	fields_put(out, "upper-boot", sandbox->upper_boot_id);
	len = out->len + strlen(HEAD_PAD "\n") + HEAD_CHECK_SIZE;
	str_addf(out, HEAD_PAD "%*s\n", len < HEAD_SIZE ? (int)(HEAD_SIZE - len) : 0, "");
	str_addf(out, HEAD_CHECK "%08x\n", crc32c(0, out->data, out->len));
	fields_end(out);
}

/* The checksum covers what stands before it. */
static bool check_holds(const char *bytes, size_t len, const struct fields *fields)
{
	const char *check = fields_get(fields, "check");

	return len > HEAD_CHECK_SIZE && strlen(check) == 8 &&
	       strtoul(check, NULL, 16) == crc32c(0, bytes, len - HEAD_CHECK_SIZE);
}

int sandbox_head_parse(const char *bytes, size_t len, struct sandbox *sandbox, struct error *err)
{
	owned(fields_done) struct fields fields = { 0 };

	if (fields_parse(bytes, len, HEAD_KIND, &fields, err) < 0)
		return -1;
	if (!check_holds(bytes, len, &fields) ||
	    !fields_copy(&fields, "layer", sandbox->head, sizeof(sandbox->head)) ||
	    !fields_copy(&fields, "at", sandbox->at, sizeof(sandbox->at)) ||
	    !fields_copy(&fields, "base-boot", sandbox->base_boot_id,
			 sizeof(sandbox->base_boot_id)) ||
	    !fields_copy(&fields, "upper-boot", sandbox->upper_boot_id,
			 sizeof(sandbox->upper_boot_id)) ||
	    (sandbox->head[0] && !layer_id_is_valid(sandbox->head)) ||
	    (sandbox->at[0] && !sandbox_name_is_valid(sandbox->at)))
		return error_set(err, ERROR_INPUT, "damaged: not the head of a sandbox");
	sandbox->last_snap = fields_number(&fields, "last-snap");
	sandbox->last_auto = fields_number(&fields, "last-auto");
	sandbox->expires_ms = fields_number(&fields, "expires");
	sandbox->base_ns = fields_number(&fields, "base");
	sandbox->clock_offset_ns = strtoll(fields_get(&fields, "clock-offset"), NULL, 10);
	return 0;
}

void sandbox_record_done(struct sandbox *sandbox)
{
	free(sandbox->workspace);
	free(sandbox->root);
	free(sandbox->owner);
	sandbox->workspace = sandbox->root = sandbox->owner = NULL;
	strv_done(&sandbox->settings);
}

int sandbox_take_base(struct sandbox *sandbox, struct error *err)
{
	sandbox->base_ns = clock_stamp_ns();
	sandbox->clock_offset_ns = clock_offset_ns();
	return store_boot_id(sandbox->base_boot_id, err);
}

int sandbox_damaged(const struct sandbox *sandbox, struct error *err)
{
	/* The sandbox is there, only not whole. */
	if (err->code == ERROR_NOT_FOUND)
		err->code = ERROR_INPUT;
	return error_context(err, "the sandbox '%s' cannot be used", sandbox->name);
}

/* It may be being written: read again when the checksum does not hold. */
int sandbox_read_head(struct sandbox *sandbox, struct error *err)
{
	for (unsigned i = 0; i < HEAD_TRIES; i++) {
		owned(str_done) struct str text = STR_INIT;

		if (fields_read_bytes(sandbox->dir_fd, "head", FIELDS_BYTES_MAX, &text, err) < 0)
			break;
		if (sandbox_head_parse(str_cstr(&text), text.len, sandbox, err) == 0)
			return 0;
	}
	return sandbox_damaged(sandbox, err);
}

int sandbox_write_head(const struct sandbox *sandbox, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	sandbox_head_format(sandbox, &text);
	return store_overwrite(sandbox->dir_fd, "head", text.data, text.len, err);
}

int sandbox_save(struct sandbox *sandbox, struct error *err)
{
	if (sandbox_write_head(sandbox, err) < 0)
		return -1;
	return sandbox->expires_ms ? store_note_expiry(sandbox->store, sandbox->expires_ms, err)
				   : 0;
}

bool sandbox_has_user_xattr(const struct sandbox *sandbox)
{
	return strcmp(sandbox->root, "idmapped") != 0 &&
	       strcmp(sandbox->root, "project-idmapped") != 0;
}
