/* SPDX-License-Identifier: Apache-2.0 */
/* The neutral tree of values: making, filling, finding and freeing nodes. */
#include "base/core/value.h"

#include <stdlib.h>
#include <string.h>

static struct value *new_value(enum value_kind kind)
{
	struct value *value = xcalloc(1, sizeof(*value));

	value->kind = kind;
	return value;
}

struct value *value_new_null(void)
{
	return new_value(VALUE_NULL);
}

struct value *value_new_bool(bool truth)
{
	struct value *value = new_value(VALUE_BOOL);

	value->truth = truth;
	return value;
}

struct value *value_new_int(int64_t integer)
{
	struct value *value = new_value(VALUE_INT);

	value->integer = integer;
	return value;
}

struct value *value_new_real(double real)
{
	struct value *value = new_value(VALUE_REAL);

	value->real = real;
	return value;
}

struct value *value_new_text(const char *text)
{
	return text ? value_new_bytes(text, strlen(text)) : value_new_null();
}

struct value *value_new_bytes(const char *bytes, size_t len)
{
	struct value *value = new_value(VALUE_TEXT);

	value->text.bytes = xmalloc(len + 1);
	if (len)
		memcpy(value->text.bytes, bytes, len);
	value->text.bytes[len] = '\0';
	value->text.len = len;
	return value;
}

struct value *value_new_list(void)
{
	return new_value(VALUE_LIST);
}

struct value *value_new_map(void)
{
	return new_value(VALUE_MAP);
}

struct value *value_from_strv(const struct strv *list)
{
	struct value *value = value_new_list();

	for (size_t i = 0; i < list->count; i++)
		value_append(value, value_new_text(list->items[i]));
	return value;
}

static bool is_container(const struct value *value)
{
	return value->kind == VALUE_LIST || value->kind == VALUE_MAP;
}

static void free_node(struct value *value)
{
	if (value->kind == VALUE_TEXT)
		free(value->text.bytes);
	if (is_container(value)) {
		free(value->many.items);
		free(value->many.keys);
	}
	free(value);
}

/*
 * The way back up is kept in the slot of the child being freed, so that a tree of any depth needs neither
 * stack nor heap.
 */
void value_free(struct value *value)
{
	struct value *parent = NULL;

	while (value) {
		if (is_container(value) && value->many.count > 0) {
			size_t last = --value->many.count;
			struct value *child = value->many.items[last];

			if (value->kind == VALUE_MAP)
				free(value->many.keys[last]);
			value->many.items[last] = parent;
			parent = value;
			value = child;
			continue;
		}
		free_node(value);
		value = parent;
		if (value)
			parent = value->many.items[value->many.count];
	}
}

void value_release(struct value **slot)
{
	value_free(*slot);
	*slot = NULL;
}

/* Room is doubled whenever the count reaches a power of two: no capacity needs to be kept. */
static bool needs_room(size_t count)
{
	return (count & (count - 1)) == 0;
}

static void add_item(struct value *many, struct value *item)
{
	size_t count = many->many.count;

	if (needs_room(count))
		many->many.items =
			xrealloc(many->many.items, count ? count * 2 : 1, sizeof(struct value *));
	many->many.items[many->many.count++] = item;
}

struct value *value_append(struct value *list, struct value *item)
{
	add_item(list, item);
	return item;
}

struct value *value_add(struct value *map, const char *key, struct value *item)
{
	size_t count = map->many.count;

	if (needs_room(count))
		map->many.keys = xrealloc(map->many.keys, count ? count * 2 : 1, sizeof(char *));
	map->many.keys[count] = xstrdup(key);
	add_item(map, item);
	return item;
}

struct value *value_set(struct value *map, const char *key, struct value *item)
{
	for (size_t i = 0; i < map->many.count; i++) {
		if (strcmp(map->many.keys[i], key) != 0)
			continue;
		value_free(map->many.items[i]);
		map->many.items[i] = item;
		return item;
	}
	return value_add(map, key, item);
}

struct value *value_take(struct value *map, const char *key)
{
	for (size_t i = 0; i < map->many.count; i++) {
		struct value *item = map->many.items[i];

		if (strcmp(map->many.keys[i], key) != 0)
			continue;
		free(map->many.keys[i]);
		map->many.count--;
		memmove(map->many.keys + i, map->many.keys + i + 1,
			(map->many.count - i) * sizeof(*map->many.keys));
		memmove(map->many.items + i, map->many.items + i + 1,
			(map->many.count - i) * sizeof(struct value *));
		return item;
	}
	return NULL;
}

struct value *value_get(const struct value *map, const char *key)
{
	if (!map || map->kind != VALUE_MAP)
		return NULL;
	for (size_t i = 0; i < map->many.count; i++) {
		if (strcmp(map->many.keys[i], key) == 0)
			return map->many.items[i];
	}
	return NULL;
}

const char *value_get_text(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_TEXT ? value->text.bytes : NULL;
}

bool value_get_int(const struct value *map, const char *key, int64_t *ret_integer)
{
	const struct value *value = value_get(map, key);

	if (!value || value->kind != VALUE_INT)
		return false;
	*ret_integer = value->integer;
	return true;
}

int64_t value_int_of(const struct value *map, const char *key)
{
	int64_t found = 0;

	(void)value_get_int(map, key, &found);
	return found;
}

size_t value_list_count(const struct value *map, const char *key)
{
	const struct value *list = value_get(map, key);

	return list && list->kind == VALUE_LIST ? list->many.count : 0;
}

bool value_is_true(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_BOOL && value->truth;
}
