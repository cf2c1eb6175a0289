/* SPDX-License-Identifier: Apache-2.0 */
/* Growable text and string vectors. */
#include "base/core/str.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that much text took is given back afterwards. */
#define PASSED_KEPT ((size_t)64 << 10)

void str_done(struct str *text)
{
	free(text->data);
	*text = (struct str)STR_INIT;
}

void str_clear(struct str *text)
{
	str_truncate(text, 0);
}

void str_truncate(struct str *text, size_t len)
{
	if (len < text->len) {
		text->len = len;
		text->data[len] = '\0';
	}
}

void str_drop_front(struct str *text, size_t len)
{
	if (len == 0 || text->len == 0)
		return;
	if (len < text->len)
		memmove(text->data, text->data + len, text->len - len);
	str_truncate(text, len < text->len ? text->len - len : 0);
}

static void reserve(struct str *text, size_t more)
{
	size_t need = text->len + more + 1;

	if (need <= text->cap)
		return;
	size_t cap = text->cap ? text->cap * 2 : 64;

	if (cap < need)
		cap = need;
	text->data = xrealloc(text->data, cap, 1);
	text->cap = cap;
}

void str_add_bytes(struct str *text, const void *bytes, size_t len)
{
	reserve(text, len);
	if (len)
		memcpy(text->data + text->len, bytes, len);
	text->len += len;
	text->data[text->len] = '\0';
}

void str_add(struct str *text, const char *more)
{
	str_add_bytes(text, more, strlen(more));
}

void str_add_char(struct str *text, char c)
{
	str_add_bytes(text, &c, 1);
}

void str_addf(struct str *text, const char *format, ...)
{
	char small[256];
	va_list args;
	int need;

	va_start(args, format);
	need = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if (need < 0)
		return;
	if ((size_t)need < sizeof(small)) {
		str_add_bytes(text, small, (size_t)need);
		return;
	}
	reserve(text, (size_t)need);
	va_start(args, format);
	(void)vsnprintf(text->data + text->len, (size_t)need + 1, format, args);
	va_end(args);
	text->len += (size_t)need;
}

void str_pass(struct str *text, size_t *at, size_t len)
{
	*at += len;
	if (*at > text->len / 2) {
		str_drop_front(text, *at);
		*at = 0;
	}
	if (text->len == 0 && text->cap > PASSED_KEPT)
		str_done(text);
}

const char *str_cstr(const struct str *text)
{
	return text->data ? text->data : "";
}

char *str_detach(struct str *text)
{
	char *data = text->data ? text->data : xstrdup("");

	*text = (struct str)STR_INIT;
	return data;
}

void strv_done(struct strv *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct strv)STRV_INIT;
}

void strv_take(struct strv *list, char *item)
{
	size_t needed = list->count + 2;

	/* In leaps: a list of thousands must not be copied thousands of times. */
	if (needed > list->room) {
		list->room = needed + needed / 2;
		list->items = xrealloc(list->items, list->room, sizeof(char *));
	}
	list->items[list->count++] = item;
	list->items[list->count] = NULL;
}

void strv_add(struct strv *list, const char *item)
{
	strv_take(list, xstrdup(item));
}

void strv_addf(struct strv *list, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	strv_take(list, xvasprintf(format, args));
	va_end(args);
}

void strv_add_script(struct strv *list, const char *script)
{
	strv_add(list, "sh");
	strv_add(list, "-c");
	/* A text may begin as an option does. */
	if (*script == '-' || *script == '+')
		strv_add(list, "--");
	strv_add(list, script);
}

void strv_copy(struct strv *to, const struct strv *from)
{
	for (size_t i = 0; i < from->count; i++)
		strv_add(to, from->items[i]);
}

bool strv_has(const struct strv *list, const char *item)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], item) == 0)
			return true;
	}
	return false;
}

static int compare_items(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort(struct strv *list)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(list->items[0]), compare_items);
}

bool strv_has_sorted(const struct strv *list, const char *item)
{
	return list->count > 0 &&
	       bsearch(&item, list->items, list->count, sizeof(list->items[0]), compare_items);
}

bool str_same(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
	size_t len = strlen(text), tail = strlen(suffix);

	return len >= tail && memcmp(text + len - tail, suffix, tail) == 0;
}

const char *str_shown(const char *text, char buffer[static STR_SHOWN_SIZE])
{
	size_t len = strnlen(text, STR_SHOWN_SIZE);
	bool cut = len == STR_SHOWN_SIZE;

	if (cut)
		len = STR_SHOWN_SIZE - 4;
	/* Do not leave half a UTF-8 sequence at the cut. */
	while (cut && len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		buffer[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
	}
	memcpy(buffer + len, cut ? "..." : "", cut ? 4 : 1);
	return buffer;
}
