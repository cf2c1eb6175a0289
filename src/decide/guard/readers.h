/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that only read and print, with the options they may have. Private to guard. */
#ifndef GUARD_READERS_H
#define GUARD_READERS_H

#include "base/core/str.h"

#include <stdbool.h>

enum reader_operands {
	OPERANDS_NONE,	/* other words would change something: date sets the clock */
	OPERANDS_WORDS, /* mean nothing but themselves */
	OPERANDS_FILES, /* are read */
	OPERANDS_PAIRS, /* are compared: of a directory, what lies in it is read */
	OPERANDS_TREES, /* are read with all that lies below */
};

struct reader_row {
	const char *name;
	const char *letters; /* short options that are fine, also joined: "-la" */
	const char *valued;  /* short options that take a value */
	const char *words;   /* long options and find's tests that are fine, a blank around each */
	enum reader_operands operands;
};

/* NULL when NAME is not on the list. */
const struct reader_row *reader_find(const char *name);

/* Whether every word of COMMAND (from 1 on) is one the row knows; *ret_odd is the first that is not. */
bool reader_knows_words(const struct reader_row *row, const struct strv *command,
			const char **ret_odd);

#endif
