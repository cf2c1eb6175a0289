/* SPDX-License-Identifier: Apache-2.0 */
/* Heads: the pushes of a name, one after the other, each signed and naming the one before it by its digest. */
#include "app/travel/travel_parts.h"

#include "app/vet/sign.h"
#include "base/core/own.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KIND "push 2"
#define HEAD_MAX ((size_t)16 << 10)
#define DIGITS 20

char *travel_object(const char *sha256)
{
	return xasprintf("objects/%.2s/%s", sha256, sha256);
}

char *head_place(const char *name, uint64_t sequence)
{
	return xasprintf("names/%s/%0*" PRIu64, name, DIGITS, sequence);
}

int head_last(struct remote *remote, const char *name, uint64_t *ret_sequence, struct error *err)
{
	owned(free_ptr) char *directory = xasprintf("names/%s", name);
	owned(strv_done) struct strv files = STRV_INIT;
	char shown[STR_SHOWN_SIZE];

	*ret_sequence = 0;
	if (remote_list(remote, directory, &files, err) < 0)
		return -1;
	for (size_t i = 0; i < files.count; i++) {
		const char *file = files.items[i];
		uint64_t number = strtoull(file, NULL, 10);

		if (strlen(file) != DIGITS || strspn(file, "0123456789") != DIGITS || number == 0 ||
		    number >= INT64_MAX)
			return error_set(err, ERROR_INPUT, "remote: %s/%s does not belong there",
					 directory, str_shown(file, shown));
		*ret_sequence = number > *ret_sequence ? number : *ret_sequence;
	}
	return 0;
}

static bool take_digest(const struct value *map, const char *key, char ret[static SHA256_HEX_SIZE])
{
	const char *text = value_get_text(map, key);

	if (!text || !sha256_is_hex(text))
		return false;
	memcpy(ret, text, SHA256_HEX_SIZE);
	return true;
}

/* What is signed says where it belongs: a file that was moved to another remote, name or number is refused. */
static bool read_fields(const struct value *map, const struct remote *remote, const char *name,
			struct head *head)
{
	int64_t largest = value_int_of(map, "largest");

	if (map->kind != VALUE_MAP || !str_same(value_get_text(map, "name"), name) ||
	    !str_same(value_get_text(map, "remote"), remote->id) ||
	    (uint64_t)value_int_of(map, "sequence") != head->sequence || largest < 0 ||
	    !take_digest(map, "bundle", head->bundle))
		return false;
	head->largest = (uint64_t)largest;
	return head->sequence == 1 ? !value_get_text(map, "parent")
				   : take_digest(map, "parent", head->parent);
}

int head_read(struct remote *remote, const char *name, uint64_t sequence, bool trusted,
	      struct head *ret_head, struct error *err)
{
	owned(free_ptr) char *place = head_place(name, sequence);
	owned(str_done) struct str text = STR_INIT;
	owned(value_release) struct value *map = NULL;
	size_t len;

	*ret_head = (struct head){ .sequence = sequence };
	if (remote_get_bytes(remote, place, HEAD_MAX, &text, err) < 0)
		return -1;
	len = strcspn(str_cstr(&text), "\n");
	if (strlen(str_cstr(&text)) != text.len)
		return error_set(err, ERROR_INPUT, "%s: damaged", place);
	if (trusted && sign_text_check(KIND, str_cstr(&text), &len, err) < 0)
		return error_context(err, "%s", place);
	if (json_read(str_cstr(&text), len, NULL, &map, err) < 0)
		return error_context(err, "%s", place);
	if (!read_fields(map, remote, name, ret_head))
		return error_set(err, ERROR_INPUT, "%s: it was signed for another place", place);
	sha256_hex(str_cstr(&text), text.len, ret_head->id);
	return 0;
}

int head_refuse(const char *name, struct error *err)
{
	return error_advise(err, ERROR_CONFLICT, "ask the owner of the remote; nothing was changed",
			    "the remote shows another or an older '%s' than was seen there before",
			    name);
}

int head_descends(struct remote *remote, const char *name, const struct head *head,
		  uint64_t sequence, const char *id, struct error *err)
{
	struct head at = *head;

	while (at.sequence > sequence) {
		struct head before;

		if (head_read(remote, name, at.sequence - 1, false, &before, err) < 0)
			return -1;
		if (strcmp(before.id, at.parent) != 0)
			break;
		at = before;
	}
	return at.sequence == sequence && strcmp(at.id, id) == 0 ? 0 : head_refuse(name, err);
}

int head_sign(const struct remote *remote, const char *name, struct head *head,
	      struct str *ret_text, struct error *err)
{
	owned(value_release) struct value *map = value_new_map();

	value_add(map, "remote", value_new_text(remote->id));
	value_add(map, "name", value_new_text(name));
	value_add(map, "sequence", value_new_int((int64_t)head->sequence));
	value_add(map, "parent", value_new_text(head->parent[0] ? head->parent : NULL));
	value_add(map, "bundle", value_new_text(head->bundle));
	value_add(map, "largest", value_new_int((int64_t)head->largest));
	json_write(ret_text, map, 0);
	str_add_char(ret_text, '\n');
	if (sign_text(KIND, ret_text, err) < 0)
		return -1;
	sha256_hex(str_cstr(ret_text), ret_text->len, head->id);
	return 0;
}

int head_list(struct remote *remote, const struct head *head, struct bundle *ret_bundle,
	      struct error *err)
{
	owned(free_ptr) char *place = xasprintf("bundles/%s", head->bundle);
	owned(str_done) struct str text = STR_INIT;
	char hex[SHA256_HEX_SIZE];

	if (remote_get_bytes(remote, place, TRAVEL_LIST_MAX, &text, err) < 0)
		return -1;
	sha256_hex(str_cstr(&text), text.len, hex);
	if (strcmp(hex, head->bundle) != 0)
		return error_set(err, ERROR_INPUT, "%s is not what was signed", place);
	return bundle_read(str_cstr(&text), text.len, ret_bundle, err);
}
