/* SPDX-License-Identifier: Apache-2.0 */
/* JSON out: a value tree, or straight into text without building one. */
#include "base/text/json_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != 0x7f;
}

static void add_escape(struct str *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char words[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
	char letter = 0;

	if (c == '"' || c == '\\')
		letter = (char)c;
	else if (c == '\n')
		letter = 'n';
	else if (c == '\t')
		letter = 't';
	else if (c == '\r')
		letter = 'r';
	else if (c == '\b')
		letter = 'b';
	else if (c == '\f')
		letter = 'f';
	if (!letter) {
		str_add_bytes(out, words, sizeof(words));
		return;
	}
	words[1] = letter;
	str_add_bytes(out, words, 2);
}

/* As an escape, which a parser reads as the same character and a terminal does not obey. */
static void add_point(struct str *out, uint32_t point)
{
	if (point < 0x10000) {
		str_addf(out, "\\u%04x", point);
		return;
	}
	point -= 0x10000;
	str_addf(out, "\\u%04x\\u%04x", 0xd800 | point >> 10, 0xdc00 | (point & 0x3ff));
}

static void add_quoted(struct str *out, const char *bytes, size_t len)
{
	const unsigned char *at = (const unsigned char *)bytes;
	size_t from = 0, i = 0;

	str_add_char(out, '"');
	while (i < len) {
		if (is_plain(at[i])) {
			i++;
			continue;
		}
		uint32_t point = 0;
		size_t step = at[i] < 0x80 ? 0 : utf8_decode(bytes + i, len - i, &point);

		if (step > 0 && !utf8_is_deceptive(point)) {
			i += step;
			continue;
		}
		str_add_bytes(out, at + from, i - from);
		if (at[i] < 0x80)
			add_escape(out, at[i]);
		else if (step > 0)
			add_point(out, point);
		else
			str_add(out, "\xef\xbf\xbd");
		i += step > 0 ? step : 1;
		from = i;
	}
	str_add_bytes(out, at + from, len - from);
	str_add_char(out, '"');
}

static void add_int(struct str *out, int64_t integer)
{
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t rest = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;

	do {
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (integer < 0)
		digits[--at] = '-';
	str_add_bytes(out, digits + at, sizeof(digits) - at);
}

/* The shortest decimal that reads back as the same number. */
static void add_exact_real(struct str *out, double real)
{
	char text[40];

	if (!isfinite(real)) {
		str_add(out, "null");
		return;
	}
	(void)snprintf(text, sizeof(text), "%.15g", real);
	if (strtod(text, NULL) != real)
		(void)snprintf(text, sizeof(text), "%.17g", real);
	/* A program that links the library may have set a locale with a decimal comma. */
	char *comma = strchr(text, ',');

	if (comma)
		*comma = '.';
	str_add(out, text);
	if (!strpbrk(text, ".e"))
		str_add(out, ".0");
}

static void new_line(struct str *out, unsigned spaces)
{
	str_addf(out, "\n%*s", (int)spaces, "");
}

static void write_value(struct str *out, const struct value *value, unsigned indent,
			unsigned depth);

static void write_many(struct str *out, const struct value *value, unsigned indent, unsigned depth)
{
	bool is_map = value->kind == VALUE_MAP;

	str_add_char(out, is_map ? '{' : '[');
	for (size_t i = 0; i < value->many.count; i++) {
		if (i > 0)
			str_add_char(out, ',');
		if (indent)
			new_line(out, indent * (depth + 1));
		if (is_map) {
			add_quoted(out, value->many.keys[i], strlen(value->many.keys[i]));
			str_add(out, indent ? ": " : ":");
		}
		write_value(out, value->many.items[i], indent, depth + 1);
	}
	if (indent && value->many.count > 0)
		new_line(out, indent * depth);
	str_add_char(out, is_map ? '}' : ']');
}

static void write_value(struct str *out, const struct value *value, unsigned indent, unsigned depth)
{
	switch (value->kind) {
	case VALUE_BOOL:
		str_add(out, value->truth ? "true" : "false");
		return;
	case VALUE_INT:
		add_int(out, value->integer);
		return;
	case VALUE_REAL:
		add_exact_real(out, value->real);
		return;
	case VALUE_TEXT:
		add_quoted(out, value->text.bytes, value->text.len);
		return;
	case VALUE_LIST:
	case VALUE_MAP:
		if (depth < JSON_DEPTH_MAX) {
			write_many(out, value, indent, depth);
			return;
		}
		break;
	case VALUE_NULL:
		break;
	}
	str_add(out, "null");
}

void json_write(struct str *out, const struct value *value, unsigned indent)
{
	write_value(out, value, indent, 0);
}

void json_init(struct json *json, struct str *out)
{
	*json = (struct json){ .out = out };
}

static uint64_t level_bit(const struct json *json)
{
	return UINT64_C(1) << (json->depth % JSON_DEPTH_MAX);
}

/* What must stand before a value: nothing behind a key, a comma behind a sibling. */
static void before_value(struct json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->has_member & level_bit(json))
		str_add_char(json->out, ',');
	json->has_member |= level_bit(json);
}

void json_open(struct json *json, char bracket)
{
	before_value(json);
	str_add_char(json->out, bracket);
	json->depth++;
	json->has_member &= ~level_bit(json);
}

void json_close(struct json *json, char bracket)
{
	json->depth--;
	str_add_char(json->out, bracket);
}

void json_key(struct json *json, const char *key)
{
	before_value(json);
	add_quoted(json->out, key, strlen(key));
	str_add_char(json->out, ':');
	json->after_key = true;
}

void json_text(struct json *json, const char *text)
{
	if (text)
		json_bytes(json, text, strlen(text));
	else
		json_write_null(json);
}

void json_bytes(struct json *json, const char *bytes, size_t len)
{
	before_value(json);
	add_quoted(json->out, bytes, len);
}

void json_int(struct json *json, int64_t integer)
{
	before_value(json);
	add_int(json->out, integer);
}

/* By hand: printf's floating point asks the locale and costs more than the rest of the object. */
void json_write_real(struct json *json, double real)
{
	double size = real < 0 ? -real : real;

	before_value(json);
	if (!(size < 9e15)) {
		add_exact_real(json->out, real);
		return;
	}
	uint64_t thousandths = (uint64_t)(size * 1000 + 0.5);
	unsigned fraction = (unsigned)(thousandths % 1000);

	if (real < 0 && thousandths > 0)
		str_add_char(json->out, '-');
	add_int(json->out, (int64_t)(thousandths / 1000));
	str_add_char(json->out, '.');
	str_add_char(json->out, (char)('0' + fraction / 100));
	if (fraction % 100)
		str_add_char(json->out, (char)('0' + fraction / 10 % 10));
	if (fraction % 10)
		str_add_char(json->out, (char)('0' + fraction % 10));
}

void json_bool(struct json *json, bool truth)
{
	before_value(json);
	str_add(json->out, truth ? "true" : "false");
}

void json_write_null(struct json *json)
{
	before_value(json);
	str_add(json->out, "null");
}

void json_raw(struct json *json, const char *text, size_t len)
{
	before_value(json);
	if (len > 0)
		str_add_bytes(json->out, text, len);
	else
		str_add(json->out, "null");
}

void json_strv(struct json *json, const struct strv *list)
{
	json_open(json, '[');
	for (size_t i = 0; i < list->count; i++)
		json_text(json, list->items[i]);
	json_close(json, ']');
}
