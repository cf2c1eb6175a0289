/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a tree of values: every mistake with its place. */
#include "base/text/value_reader.h"

#include "base/text/suggest.h"

#include <string.h>

int value_reader_at(const struct value_reader *reader, const struct value *item)
{
	if (!reader->origin)
		return -1;
	/* What JSON was read into has no lines. */
	if (item->line == 0)
		return error_context(reader->err, "%s", reader->origin);
	return error_context(reader->err, "%s:%u", reader->origin, item->line);
}

int value_reader_unknown(const struct value_reader *reader, const struct value *item,
			 const char *key, const char *best)
{
	char shown[STR_SHOWN_SIZE];

	error_set(reader->err, ERROR_INPUT, "unknown key '%s'", str_shown(key, shown));
	(void)suggest_add_hint(best, reader->err);
	return value_reader_at(reader, item);
}

int value_reader_refuse(const struct value_reader *reader, const struct value *item,
			const char *what)
{
	error_set(reader->err, ERROR_INPUT, "%s", what);
	return value_reader_at(reader, item);
}

/* A zero byte would end it early, and what was read would not be what was written. */
static bool is_text(const struct value *item)
{
	return item->kind == VALUE_TEXT && strlen(item->text.bytes) == item->text.len;
}

bool value_is_word(const struct value *item)
{
	return is_text(item) && item->text.len > 0;
}

int value_reader_text(const struct value_reader *reader, const struct value *item, const char *key,
		      char **ret_text)
{
	if (!value_is_word(item)) {
		error_set(reader->err, ERROR_INPUT, "'%s' must be a text", key);
		return value_reader_at(reader, item);
	}
	free(*ret_text);
	*ret_text = xstrdup(item->text.bytes);
	return 0;
}

int value_reader_words(const struct value_reader *reader, const struct value *item, const char *key,
		       struct strv *ret_words)
{
	bool is_good = item->kind == VALUE_LIST;

	for (size_t i = 0; is_good && i < item->many.count; i++) {
		is_good = is_text(item->many.items[i]);
		if (is_good)
			strv_add(ret_words, item->many.items[i]->text.bytes);
	}
	if (is_good)
		return 0;
	error_set(reader->err, ERROR_INPUT, "'%s' must be a list of words: [\"make\", \"all\"]",
		  key);
	return value_reader_at(reader, item);
}
