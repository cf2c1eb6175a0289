/* SPDX-License-Identifier: Apache-2.0 */
/* JSON out: a value tree, or straight into text without building one (the hot path). */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include "base/core/str.h"
#include "base/core/utf8.h"
#include "base/core/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 64

/*
 * Compact when indent is 0; keys keep their order. Text that is not UTF-8 gets U+FFFD per bad byte. What lies
 * deeper than JSON_DEPTH_MAX is written as null: no reader of ours makes such a tree.
 */
void json_write(struct str *out, const struct value *value, unsigned indent);

/* Streaming form: commas are put where they belong. Up to JSON_DEPTH_MAX levels. */
struct json {
	struct str *out;
	uint64_t has_member; /* bit per level: something was written there already */
	unsigned depth;
	bool after_key;
};

void json_init(struct json *json, struct str *out);
void json_open(struct json *json, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);
void json_key(struct json *json, const char *key);
void json_text(struct json *json, const char *text); /* NULL gives null */
void json_bytes(struct json *json, const char *bytes, size_t len);
void json_int(struct json *json, int64_t integer);
void json_write_real(struct json *json,
		     double real); /* at most 3 decimals; not finite gives null */
void json_bool(struct json *json, bool truth);
void json_write_null(struct json *json);
void json_strv(struct json *json, const struct strv *list);
/* A value that is JSON already; nothing gives null. */
void json_raw(struct json *json, const char *text, size_t len);

/* Appends standard base64 with padding. */
void base64_add(struct str *out, const void *bytes, size_t len);
/* Appends the bytes that TEXT stands for; false when it is not exactly what base64_add writes. */
bool base64_read(struct str *out, const char *text, size_t len);

#endif
