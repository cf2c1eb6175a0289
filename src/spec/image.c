/* SPDX-License-Identifier: Apache-2.0 */
/* A spec laid out in one piece of memory, along the table of its fields. */
#include "spec/image.h"

#include "spec/codec_field.h"

#include <stdalign.h>
#include <string.h>

struct room {
	char *at;
	size_t left;
};

/* NULL from the first time on that there is too little. */
static void *take(struct room *room, size_t size)
{
	const size_t step = alignof(max_align_t);
	size_t whole = (size + step - 1) / step * step;
	char *at = room->at;

	if (whole < size || whole > room->left) {
		room->left = 0;
		return NULL;
	}
	room->at += whole;
	room->left -= whole;
	return at;
}

static bool copy_text(struct room *room, char **text)
{
	size_t size = *text ? strlen(*text) + 1 : 0;
	char *copy;

	if (!*text)
		return true;
	copy = take(room, size);
	if (!copy)
		return false;
	memcpy(copy, *text, size);
	*text = copy;
	return true;
}

static bool copy_texts(struct room *room, struct strv *list)
{
	char **items = NULL;

	list->room = list->items ? list->count + 1 : 0;
	if (!list->items)
		return true;
	items = take(room, list->room * sizeof(*items));
	if (!items)
		return false;
	memcpy(items, list->items, list->count * sizeof(*items));
	items[list->count] = NULL;
	list->items = items;
	for (size_t i = 0; i < list->count; i++) {
		if (!copy_text(room, &items[i]))
			return false;
	}
	return true;
}

static bool copy_fields(struct room *room, const struct record *record, char *at);

static bool copy_records(struct room *room, const struct field *field, char *record)
{
	char **first = (char **)(void *)(record + field->offset);
	size_t count = *(const size_t *)(const void *)(record + field->count_offset);
	size_t size = field->record->size;
	char *copy = count ? take(room, count * size) : NULL;

	if (count && !copy)
		return false;
	for (size_t i = 0; i < count; i++) {
		memcpy(copy + i * size, *first + i * size, size);
		if (!copy_fields(room, field->record, copy + i * size))
			return false;
	}
	*first = copy;
	return true;
}

/* Whatever the fields of the record at AT point to. */
static bool copy_fields(struct room *room, const struct record *record, char *at)
{
	for (const struct field *field = record->fields; field->name; field++) {
		void *place = at + field->offset;
		bool fits = true;

		switch (field->kind) {
		case FIELD_TEXT:
			fits = copy_text(room, place);
			break;
		case FIELD_TEXTS:
			fits = copy_texts(room, place);
			break;
		case FIELD_RECORD:
			fits = copy_fields(room, field->record, place);
			break;
		case FIELD_RECORDS:
			fits = copy_records(room, field, at);
			break;
		case FIELD_BOOL:
		case FIELD_U32:
		case FIELD_U64:
		case FIELD_ENUM:
		case FIELD_LAYERS:
			break;
		}
		if (!fits)
			return false;
	}
	return true;
}

const struct spec *spec_image_make(const struct spec *spec, void *memory, size_t size)
{
	struct room room = { memory, size };
	struct spec *copy = take(&room, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *spec;
	return copy_fields(&room, &spec_record, (char *)copy) ? copy : NULL;
}
