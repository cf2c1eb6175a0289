/* What whoever reads a tree of values needs: mistakes with their place, keys nobody knows. */
#ifndef BASE_VALUE_READER_H
#define BASE_VALUE_READER_H

#include "base/error.h"
#include "base/value.h"

struct value_reader {
	const char *origin; /* names what is read in errors */
	struct error *err;
};

/* Puts "ORIGIN:LINE: " in front of the error; -1. */
int value_reader_at(const struct value_reader *reader, const struct value *item);

/* "unknown key 'KEY' (did you mean 'BEST'?)" with its place; BEST may be NULL; -1. */
int value_reader_unknown(const struct value_reader *reader, const struct value *item,
			 const char *key, const char *best);

#endif
