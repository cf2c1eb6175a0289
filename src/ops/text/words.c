/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, moments and sizes as words for people. */
#include "ops/text/words.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/shell_quote.h"
#include "base/core/utf8.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_COLUMNS_MAX 12

/* Beyond ASCII there are characters that reorder or hide what a reader sees; git escapes them all. */
static bool is_odd(unsigned char byte)
{
	return byte < ' ' || byte >= 0x7f;
}

void words_add_path(struct str *out, const char *path)
{
	bool plain = true;

	for (const char *at = path; *at; at++)
		plain = plain && !is_odd((unsigned char)*at) && *at != '"' && *at != '\\';
	if (plain) {
		str_add(out, path);
		return;
	}
	str_add_char(out, '"');
	for (const char *at = path; *at; at++) {
		if (is_odd((unsigned char)*at))
			str_addf(out, "\\%03o", (unsigned char)*at);
		else
			str_addf(out, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
	}
	str_add_char(out, '"');
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* One escape behind a backslash: how many bytes it takes, 0 when it is none. */
static size_t read_escape(struct str *out, const char *at)
{
	static const char letters[] = "abtnvfr", bytes[] = "\a\b\t\n\v\f\r";
	const char *letter = *at ? strchr(letters, *at) : NULL;

	if (*at == '"' || *at == '\\') {
		str_add_char(out, *at);
		return 1;
	}
	if (letter) {
		str_add_char(out, bytes[letter - letters]);
		return 1;
	}
	if (!is_octal(at[0]) || at[0] > '3' || !is_octal(at[1]) || !is_octal(at[2]))
		return 0;
	char byte = (char)((at[0] - '0') * 64 + (at[1] - '0') * 8 + (at[2] - '0'));

	if (!byte)
		return 0;
	str_add_char(out, byte);
	return 3;
}

char *words_read_path(const char *word)
{
	struct str out = STR_INIT;
	size_t len = strlen(word);
	const char *at = word + 1, *end = word + len - 1;

	if (len < 2 || *word != '"' || *end != '"')
		return xstrdup(word);
	while (at < end) {
		size_t taken = *at == '\\' ? read_escape(&out, at + 1) : 0;

		/* The last quote may turn out to be an escaped one. */
		if (*at == '"' || (*at == '\\' && taken == 0) || at + taken >= end) {
			str_done(&out);
			return NULL;
		}
		if (*at != '\\')
			str_add_char(&out, *at);
		at += 1 + taken;
	}
	return str_detach(&out);
}

void words_add_shell(struct str *out, const char *path)
{
	owned(str_done) struct str word = STR_INIT, place = STR_INIT;

	str_addf(&place, "%s%s", path[0] == '-' ? "./" : "", path);
	words_add_path(&word, str_cstr(&place));
	shell_quote_add(out, str_cstr(&word));
}

void words_add_line(struct str *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			str_addf(out, "\\x%02x", c);
		else
			str_add_char(out, *text);
	}
}

void words_add_command(struct str *out, const struct value *words, size_t max)
{
	size_t before = out->len;

	for (size_t i = 0; words && i < words->many.count && out->len - before <= max; i++) {
		const struct value *word = words->many.items[i];

		str_add(out, i ? " " : "");
		if (word->kind == VALUE_TEXT)
			words_add_line(out, word->text.bytes);
	}
	if (out->len - before > max) {
		str_truncate(out, before + max - 3);
		str_add(out, "...");
	}
}

void words_add_age(struct str *out, uint64_t then_ms)
{
	uint64_t now_ms = clock_epoch_ms();
	uint64_t seconds = now_ms > then_ms ? (now_ms - then_ms) / 1000 : 0;

	if (then_ms == 0)
		str_add(out, "unknown");
	else if (seconds < 2)
		str_add(out, "just now");
	else if (seconds < 120)
		str_addf(out, "%llu s ago", (unsigned long long)seconds);
	else if (seconds < 7200)
		str_addf(out, "%llu min ago", (unsigned long long)seconds / 60);
	else if (seconds < 172800)
		str_addf(out, "%llu h ago", (unsigned long long)seconds / 3600);
	else
		str_addf(out, "%llu days ago", (unsigned long long)seconds / 86400);
}

void words_add_left(struct str *out, uint64_t until_ms)
{
	uint64_t now_ms = clock_epoch_ms();
	/* To the nearest second: seven days that began just now are seven. */
	uint64_t seconds = until_ms > now_ms ? (until_ms - now_ms + 500) / 1000 : 0;

	if (seconds == 0)
		str_add(out, "due");
	else if (seconds < 120)
		str_addf(out, "%llu s left", (unsigned long long)seconds);
	else if (seconds < 7200)
		str_addf(out, "%llu min left", (unsigned long long)(seconds + 30) / 60);
	else if (seconds < 172800)
		str_addf(out, "%llu h left", (unsigned long long)(seconds + 1800) / 3600);
	else
		str_addf(out, "%llu d left", (unsigned long long)(seconds + 43200) / 86400);
}

uint64_t words_moment(const struct value *row, const char *key)
{
	const char *text = value_get_text(row, key);
	uint64_t ms = 0;

	return text && time_parse_utc(text, &ms) ? ms : 0;
}

void words_add_size(struct str *out, int64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double number = (double)bytes;
	size_t unit = 0;

	for (; number >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		number /= 1024;
	str_addf(out, unit && number < 10 ? "%.1f %s" : "%.0f %s", number, units[unit]);
}

void words_add_table(struct str *out, const struct strv *cells, size_t columns)
{
	size_t widths[TABLE_COLUMNS_MAX] = { 0 };

	for (size_t i = 0; i < cells->count; i++) {
		size_t width = strlen(cells->items[i]);

		if (width > widths[i % columns])
			widths[i % columns] = width;
	}
	for (size_t i = 0; i < cells->count; i++) {
		if (i % columns + 1 < columns)
			str_addf(out, "%-*s  ", (int)widths[i % columns], cells->items[i]);
		else
			str_addf(out, "%s\n", cells->items[i]);
	}
}

/* Characters that are invisible, or that change how others are shown. */
static bool is_unseen(uint32_t point)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	      { 0x34f, 0x34f },
		{ 0x600, 0x605 },   { 0x61c, 0x61c },	{ 0x6dd, 0x6dd },     { 0x70f, 0x70f },
		{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },   { 0x2000, 0x200f },
		{ 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x2800, 0x2800 },   { 0x3000, 0x3000 },
		{ 0x3164, 0x3164 }, { 0xd800, 0xf8ff }, { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1d173, 0x1d17a }, { 0xe0000, 0x10ffff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (point >= ranges[i][0] && point <= ranges[i][1])
			return true;
	}
	return false;
}

void words_add_quoted(struct str *out, const char *text, size_t max)
{
	size_t left = strlen(text), count = 0;
	bool was_blank = false;

	str_add_char(out, '"');
	while (left > 0 && count < max) {
		uint32_t point = 0;
		size_t len = utf8_decode(text, left, &point);

		if (len == 0) {
			str_addf(out, "\\x%02x", (unsigned char)*text);
			len = 1;
			count++;
		} else if (is_unseen(point)) {
			str_addf(out, "\\u{%x}", point);
			count++;
		} else if (point != ' ' || !was_blank) {
			str_add(out, point == '"' || point == '\\' ? "\\" : "");
			str_add_bytes(out, text, len);
			count++;
		}
		was_blank = point == ' ';
		text += len;
		left -= len;
	}
	str_add(out, left > 0 ? "...\"" : "\"");
}
