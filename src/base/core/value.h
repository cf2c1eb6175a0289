/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A neutral tree of values: what JSON and YAML are read into and what JSON is written from.
 * Nodes remember the line they came from, so that errors can name the place.
 */
#ifndef BASE_VALUE_H
#define BASE_VALUE_H

#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind {
	VALUE_NULL,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_REAL,
	VALUE_TEXT,
	VALUE_LIST,
	VALUE_MAP,
};

struct value {
	enum value_kind kind;
	unsigned line; /* 0 when not read from a file */
	union {
		bool truth;
		int64_t integer;
		double real;
		struct {
			char *bytes; /* NUL-terminated as well */
			size_t len;
		} text;
		struct {
			struct value **items;
			char **keys; /* maps only, same order */
			size_t count;
		} many;
	};
};

struct value *value_new_null(void);
struct value *value_new_bool(bool truth);
struct value *value_new_int(int64_t integer);
struct value *value_new_real(double real);
struct value *value_new_text(const char *text); /* NULL gives a null value */
struct value *value_new_bytes(const char *bytes, size_t len);
struct value *value_new_list(void);
struct value *value_new_map(void);
struct value *value_from_strv(const struct strv *list);
/* Accepts NULL; does not recurse on depth. */
void value_free(struct value *value);
/* Cleanup for owned(value_release) struct value *v. */
void value_release(struct value **slot);

/* Both take ownership of ITEM and return it. */
struct value *value_append(struct value *list, struct value *item);
/* A key that is there already gets the new item. */
struct value *value_set(struct value *map, const char *key, struct value *item);
/* As value_set for a key known to be new; does not look. */
struct value *value_add(struct value *map, const char *key, struct value *item);

/* Takes the child of a map out of it; the caller owns it. NULL when there is none. */
struct value *value_take(struct value *map, const char *key);

/* Child of a map by key, or NULL. */
struct value *value_get(const struct value *map, const char *key);
/* Text of a child, or NULL when absent or of another kind. */
const char *value_get_text(const struct value *map, const char *key);
bool value_get_int(const struct value *map, const char *key, int64_t *ret_integer);
/* Number of a child, 0 when absent or of another kind. */
int64_t value_int_of(const struct value *map, const char *key);
/* Items of a list that is a child, 0 when absent or of another kind. */
size_t value_list_count(const struct value *map, const char *key);
/* Whether a child is there and true. */
bool value_is_true(const struct value *map, const char *key);

#endif
