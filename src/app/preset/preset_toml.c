/* SPDX-License-Identifier: Apache-2.0 */
/* As much of TOML as registries are written in: tables, dotted keys, texts, lists of texts, tables within a line. */
#include "app/preset/preset_parts.h"
#include "base/core/own.h"

#include <string.h>

#define NAME_SIZE 256

/* A key's whole name: that of its table in front. Quotes and blanks are left out. */
struct toml_name {
	char text[NAME_SIZE];
	size_t len;
};

static void name_add(struct toml_name *name, struct part part)
{
	if (name->len > 0 && name->len < NAME_SIZE)
		name->text[name->len++] = '.';
	for (size_t i = 0; i < part.len && name->len < NAME_SIZE; i++) {
		if (!strchr("\"' \t", part.text[i]))
			name->text[name->len++] = part.text[i];
	}
}

/* The text that begins with the quote at AT; its end, or NULL. Escapes do not occur in addresses. */
static const char *quoted_end(const char *at, const char *end)
{
	return memchr(at + 1, *at, (size_t)(end - at - 1));
}

static bool is_named(const struct toml_name *name, const char *keys)
{
	return name->len < NAME_SIZE && part_has_key((struct part){ name->text, name->len }, keys);
}

/* { index = "...", token = "..." }: each text has the name in front of it. */
static void read_inline(const struct toml_name *table, struct part value, const char *keys,
			struct strv *values)
{
	const char *at = value.text + 1, *end = value.text + value.len, *start = at;

	for (; at < end; at++) {
		struct toml_name name = *table;
		const char *close, *equals;

		if (*at == ',')
			start = at + 1;
		if (*at != '"' && *at != '\'')
			continue;
		close = quoted_end(at, end);
		equals = memchr(start, '=', (size_t)(at - start));
		if (!close)
			return;
		if (equals) {
			name_add(&name, (struct part){ start, (size_t)(equals - start) });
			if (is_named(&name, keys))
				part_add(values, (struct part){ at + 1, (size_t)(close - at - 1) });
		}
		at = close;
		start = close + 1;
	}
}

/* A text, or each text of a list. */
static void read_texts(struct part value, struct strv *values)
{
	const char *at = value.text, *end = at + value.len;
	bool is_list = value.len > 0 && *at == '[';

	for (; at < end; at++) {
		const char *close;

		if (*at != '"' && *at != '\'') {
			if (*at == '#')
				return;
			continue;
		}
		close = quoted_end(at, end);
		if (!close)
			return;
		part_add(values, (struct part){ at + 1, (size_t)(close - at - 1) });
		if (!is_list)
			return;
		at = close;
	}
}

/* [table] and [[table]]. */
static void read_table(struct part line, struct toml_name *table)
{
	size_t open = strspn(line.text, "[");
	const char *close = memchr(line.text, ']', line.len);

	table->len = 0;
	if (close && open < (size_t)(close - line.text))
		name_add(table,
			 (struct part){ line.text + open, (size_t)(close - line.text) - open });
}

static void read_line(struct part line, struct toml_name *table, const char *keys,
		      struct strv *values)
{
	const char *equals = memchr(line.text, '=', line.len);
	struct toml_name name = *table;

	if (line.len == 0 || line.text[0] == '#')
		return;
	if (line.text[0] == '[') {
		read_table(line, table);
		return;
	}
	if (!equals)
		return;
	size_t before = (size_t)(equals - line.text);
	struct part value = part_trim((struct part){ equals + 1, line.len - before - 1 });

	name_add(&name, (struct part){ line.text, before });
	if (value.len > 0 && value.text[0] == '{')
		read_inline(&name, value, keys, values);
	else if (is_named(&name, keys))
		read_texts(value, values);
}

void preset_toml_read(struct part text, const char *keys, struct strv *values)
{
	struct toml_name table = { .len = 0 };
	const char *at = text.text, *end = at + text.len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (!stop)
			stop = end;
		/* A copy, because the readers above look for a NUL at the end. */
		owned(free_ptr) char *line = xstrndup(at, (size_t)(stop - at));

		read_line(part_trim((struct part){ line, strlen(line) }), &table, keys, values);
		at = stop + 1;
	}
}
