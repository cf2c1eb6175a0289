/* SPDX-License-Identifier: Apache-2.0 */
/* A spec as a tree of values, both ways, along the table of its fields. */
#include "spec/codec.h"

#include "base/text/json_write.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "spec/codec_field.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct value *encode_text(const char *text)
{
	owned(str_done) struct str coded = STR_INIT;

	if (!text || utf8_valid(text, strlen(text)))
		return value_new_text(text);
	struct value *map = value_new_map();

	base64_add(&coded, text, strlen(text));
	value_add(map, "base64", value_new_bytes(coded.data, coded.len));
	return map;
}

static struct value *encode_texts(const struct strv *list)
{
	struct value *value = value_new_list();

	for (size_t i = 0; i < list->count; i++)
		value_append(value, encode_text(list->items[i]));
	return value;
}

static struct value *encode_u64(uint64_t number)
{
	char text[24];

	if (number <= INT64_MAX)
		return value_new_int((int64_t)number);
	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	return value_new_text(text);
}

static struct value *encode_layers(uint32_t bits)
{
	struct value *list = value_new_list();

	for (enum layer layer = LAYER_USER; layer < LAYER_COUNT; layer++) {
		if (bits & UINT32_C(1) << layer)
			value_append(list, value_new_text(layer_name(layer)));
	}
	return list;
}

static struct value *encode_record(const struct record *record, const char *at);

static struct value *encode_records(const struct field *field, const char *at)
{
	const char *first = *(const char *const *)(const void *)(at + field->offset);
	size_t count = *(const size_t *)(const void *)(at + field->count_offset);
	struct value *list = value_new_list();

	for (size_t i = 0; i < count; i++)
		value_append(list, encode_record(field->record, first + i * field->record->size));
	return list;
}

static struct value *encode_field(const struct field *field, const char *record)
{
	const void *at = record + field->offset;

	switch (field->kind) {
	case FIELD_TEXT:
		return encode_text(*(const char *const *)at);
	case FIELD_TEXTS:
		return encode_texts(at);
	case FIELD_BOOL:
		return value_new_bool(*(const bool *)at);
	case FIELD_U32:
		return value_new_int(*(const uint32_t *)at);
	case FIELD_U64:
		return encode_u64(*(const uint64_t *)at);
	case FIELD_ENUM:
		return value_new_text(field->names[*(const unsigned *)at]);
	case FIELD_LAYERS:
		return encode_layers(*(const uint32_t *)at);
	case FIELD_RECORD:
		return encode_record(field->record, at);
	case FIELD_RECORDS:
		break;
	}
	return encode_records(field, record);
}

static struct value *encode_record(const struct record *record, const char *at)
{
	struct value *map = value_new_map();

	for (const struct field *field = record->fields; field->name; field++)
		value_add(map, field->name, encode_field(field, at));
	return map;
}

struct value *spec_to_value(const struct spec *spec)
{
	return encode_record(&spec_record, (const char *)spec);
}

static int wrong(const char *what, struct error *err)
{
	return error_set(err, ERROR_INPUT, "must be %s", what);
}

static int decode_coded(const struct value *value, char **ret_text, struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;
	const struct value *coded = value_get(value, "base64");

	if (!coded || coded->kind != VALUE_TEXT || value->many.count != 1)
		return wrong("text", err);
	/* One way of writing each text: valid UTF-8 stands plainly, and C strings end at a NUL. */
	if (!base64_read(&bytes, coded->text.bytes, coded->text.len) ||
	    strlen(str_cstr(&bytes)) != bytes.len || utf8_valid(str_cstr(&bytes), bytes.len))
		return wrong("text, or base64 of bytes that are not UTF-8", err);
	*ret_text = str_detach(&bytes);
	return 0;
}

static int decode_text(const struct value *value, char **ret_text, struct error *err)
{
	if (value->kind == VALUE_MAP)
		return decode_coded(value, ret_text, err);
	if (value->kind != VALUE_TEXT || strlen(value->text.bytes) != value->text.len)
		return wrong("text", err);
	*ret_text = xstrdup(value->text.bytes);
	return 0;
}

static int decode_texts(const struct value *value, struct strv *list, struct error *err)
{
	if (value->kind != VALUE_LIST)
		return wrong("a list of texts", err);
	for (size_t i = 0; i < value->many.count; i++) {
		char *text = NULL;

		if (decode_text(value->many.items[i], &text, err) < 0)
			return error_context(err, "%zu", i);
		strv_take(list, text);
	}
	return 0;
}

static int decode_u64(const struct value *value, uint64_t *ret_number, struct error *err)
{
	char *end;

	if (value->kind == VALUE_INT && value->integer >= 0) {
		*ret_number = (uint64_t)value->integer;
		return 0;
	}
	/* Only what does not fit an int64 is written as text, so it has 19 or 20 digits and begins with none but 1-9. */
	if (value->kind != VALUE_TEXT || value->text.len < 19 || value->text.bytes[0] < '1' ||
	    value->text.bytes[0] > '9')
		return wrong("a number from 0", err);
	errno = 0;
	uint64_t number = strtoull(value->text.bytes, &end, 10);

	if (errno || end != value->text.bytes + value->text.len || number <= INT64_MAX)
		return wrong("a number from 0", err);
	*ret_number = number;
	return 0;
}

static int decode_u32(const struct value *value, uint32_t *ret_number, struct error *err)
{
	if (value->kind != VALUE_INT || value->integer < 0 || value->integer > UINT32_MAX)
		return wrong("a number from 0 to 4294967295", err);
	*ret_number = (uint32_t)value->integer;
	return 0;
}

static int decode_enum(const struct value *value, const char *const *names, unsigned *ret_choice,
		       struct error *err)
{
	for (unsigned i = 0; value->kind == VALUE_TEXT && names[i]; i++) {
		if (strcmp(names[i], value->text.bytes) != 0)
			continue;
		*ret_choice = i;
		return 0;
	}
	return error_set(err, ERROR_INPUT, "must be one of its words, such as '%s'", names[0]);
}

static int decode_layers(const struct value *value, uint32_t *ret_bits, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	uint32_t bits = 0;

	if (decode_texts(value, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		enum layer layer = layer_find(names.items[i]);

		/* Ascending, so that one set has one spelling. */
		if (layer == LAYER_COUNT || bits >> layer)
			return wrong("layers, each once and in their order", err);
		bits |= UINT32_C(1) << layer;
	}
	*ret_bits = bits;
	return 0;
}

static int decode_record(const struct value *value, const struct record *record, char *at,
			 struct error *err);

static int decode_records(const struct value *value, const struct field *field, char *at,
			  struct error *err)
{
	char **first = (char **)(void *)(at + field->offset);
	size_t *count = (size_t *)(void *)(at + field->count_offset);

	if (value->kind != VALUE_LIST)
		return wrong("a list", err);
	if (value->many.count == 0)
		return 0;
	*first = xcalloc(value->many.count, field->record->size);
	for (size_t i = 0; i < value->many.count; i++) {
		/* Counted before it is filled: a half-filled one must be freed as well. */
		(*count)++;
		if (decode_record(value->many.items[i], field->record,
				  *first + i * field->record->size, err) < 0)
			return error_context(err, "%zu", i);
	}
	return 0;
}

static int decode_field(const struct value *value, const struct field *field, char *record,
			struct error *err)
{
	void *at = record + field->offset;

	switch (field->kind) {
	case FIELD_TEXT:
		return value->kind == VALUE_NULL ? 0 : decode_text(value, at, err);
	case FIELD_TEXTS:
		return decode_texts(value, at, err);
	case FIELD_BOOL:
		if (value->kind != VALUE_BOOL)
			return wrong("true or false", err);
		*(bool *)at = value->truth;
		return 0;
	case FIELD_U32:
		return decode_u32(value, at, err);
	case FIELD_U64:
		return decode_u64(value, at, err);
	case FIELD_ENUM:
		return decode_enum(value, field->names, at, err);
	case FIELD_LAYERS:
		return decode_layers(value, at, err);
	case FIELD_RECORD:
		return decode_record(value, field->record, at, err);
	case FIELD_RECORDS:
		break;
	}
	return decode_records(value, field, record, err);
}

static int check_key(const struct record *record, const char *key, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, key);
	for (const struct field *field = record->fields; field->name; field++) {
		if (strcmp(field->name, key) == 0)
			return 0;
		suggest_try(&suggest, field->name);
	}
	error_set(err, ERROR_INPUT, "unknown key '%s'", str_shown(key, shown));
	return suggest_add_hint(suggest.best, err);
}

static int decode_record(const struct value *value, const struct record *record, char *at,
			 struct error *err)
{
	if (value->kind != VALUE_MAP)
		return wrong("an object", err);
	for (size_t i = 0; i < value->many.count; i++) {
		if (check_key(record, value->many.keys[i], err) < 0)
			return -1;
	}
	for (const struct field *field = record->fields; field->name; field++) {
		const struct value *item = value_get(value, field->name);

		if (!item)
			return error_set(err, ERROR_INPUT, "'%s' is missing", field->name);
		if (decode_field(item, field, at, err) < 0)
			return error_context(err, "%s", field->name);
	}
	return 0;
}

int spec_from_value(const struct value *value, struct spec *ret_spec, struct error *err)
{
	struct spec spec;

	spec_init(&spec);
	if (decode_record(value, &spec_record, (char *)&spec, err) < 0) {
		spec_done(&spec);
		return -1;
	}
	*ret_spec = spec;
	return 0;
}
