/* SPDX-License-Identifier: Apache-2.0 */
/* Settings out of a tree of values. */
#include "spec/settings_value.h"

#include "base/text/suggest.h"
#include "base/core/own.h"

#include <string.h>

static int unknown(const struct value_reader *reader, const struct value *item, const char *key,
		   const char *const *others)
{
	struct suggest suggest;

	suggest_init(&suggest, key);
	for (; *others; others++)
		suggest_try(&suggest, *others);
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		if (row->flag)
			suggest_try(&suggest, row->name);
	}
	return value_reader_unknown(reader, item, key, suggest.best);
}

/* As a flag would have it; NULL for what no flag can take. */
static char *as_word(const struct value *item)
{
	if (item->kind == VALUE_INT)
		return xasprintf("%lld", (long long)item->integer);
	if (item->kind == VALUE_REAL)
		return xasprintf("%g", item->real);
	if (item->kind != VALUE_TEXT || strlen(item->text.bytes) != item->text.len)
		return NULL;
	return xstrdup(item->text.bytes);
}

static int set(const struct value_reader *reader, const struct value *item,
	       const struct setting_row *row, const char *word, struct settings *settings)
{
	if (settings_set(settings, row, row->name, word, reader->err) < 0) {
		/* To settings_set wrong words are bad usage; here they are bad input. */
		if (reader->err->code == ERROR_USAGE)
			reader->err->code = ERROR_INPUT;
		return value_reader_at(reader, item);
	}
	return 0;
}

static int read_one(const struct value_reader *reader, const struct value *item,
		    const struct setting_row *row, struct settings *settings)
{
	owned(free_ptr) char *word = as_word(item);

	if (!word) {
		error_set(reader->err, ERROR_INPUT, "'%s' must be a single value", row->name);
		return value_reader_at(reader, item);
	}
	return set(reader, item, row, word, settings);
}

static int read_map(const struct value_reader *reader, const struct value *map,
		    const struct setting_row *row, struct settings *settings)
{
	for (size_t i = 0; i < map->many.count; i++) {
		const struct value *item = map->many.items[i];
		owned(free_ptr) char *word = as_word(item);
		owned(free_ptr) char *pair = NULL;

		if (!word)
			return value_reader_refuse(reader, item,
						   "a variable's value must be a text");
		pair = xasprintf("%s=%s", map->many.keys[i], word);
		if (set(reader, item, row, pair, settings) < 0)
			return -1;
	}
	return 0;
}

int settings_read(const struct value_reader *reader, const struct value *item, const char *key,
		  const char *const *others, struct settings *settings)
{
	const struct setting_row *row = setting_find(key);

	if (!row || !row->flag)
		return unknown(reader, item, key, others);
	if (item->kind == VALUE_MAP && strcmp(key, "env") == 0)
		return read_map(reader, item, row, settings);
	if (row->kind != SETTING_LIST || item->kind != VALUE_LIST)
		return read_one(reader, item, row, settings);
	for (size_t i = 0; i < item->many.count; i++) {
		if (read_one(reader, item->many.items[i], row, settings) < 0)
			return -1;
	}
	return 0;
}

/* Not for a file that a workspace may bring: secrets of this user, which it could send anywhere, and a driver of the kernel's. */
static bool is_for_user(const struct setting_row *row)
{
	return str_starts(row->name, "secret") || str_starts(row->name, "inject") ||
	       strcmp(row->name, "gpu") == 0;
}

int settings_read_file(const struct value_reader *reader, const struct value *item, const char *key,
		       const char *const *others, struct settings *settings)
{
	const struct setting_row *row = setting_find(key);

	if (row && row->flag && (!row->profile || is_for_user(row))) {
		error_advise(reader->err, ERROR_DENIED, "give the flag, or put it into a profile",
			     "'%s' is not taken from a file like this", row->name);
		return value_reader_at(reader, item);
	}
	return settings_read(reader, item, key, others, settings);
}
