/* SPDX-License-Identifier: Apache-2.0 */
/* Reading trees of values: errors with their place, unknown keys. */
#ifndef BASE_VALUE_READER_H
#define BASE_VALUE_READER_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

struct value_reader {
	const char *origin; /* names what is read in errors; NULL where there is nothing to name */
	struct error *err;
};

/* Puts "ORIGIN:LINE: " (or "ORIGIN: ") in front of the error; -1. */
int value_reader_at(const struct value_reader *reader, const struct value *item);

/* "unknown key 'KEY' (did you mean 'BEST'?)" with its place; BEST may be NULL; -1. */
int value_reader_unknown(const struct value_reader *reader, const struct value *item,
			 const char *key, const char *best);

/* WHAT with its place; -1. */
int value_reader_refuse(const struct value_reader *reader, const struct value *item,
			const char *what);

/* A text that a C string can hold, and not an empty one. */
bool value_is_word(const struct value *item);

/* Replaces *RET_TEXT by the text of KEY. */
int value_reader_text(const struct value_reader *reader, const struct value *item, const char *key,
		      char **ret_text);

/* Adds the texts of the list KEY, which may be empty ones. */
int value_reader_words(const struct value_reader *reader, const struct value *item, const char *key,
		       struct strv *ret_words);

#endif
