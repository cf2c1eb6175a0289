/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in: bounded, strict, into the neutral tree. The one door to the JSON library. */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include "base/core/error.h"
#include "base/core/value.h"

#include <stdbool.h>
#include <stddef.h>

struct json_limits {
	size_t bytes;	/* 0: JSON_READ_BYTES */
	unsigned depth; /* 0: JSON_READ_DEPTH */
	size_t values; /* 0: no bound but the bytes; a value takes many times the bytes it is written with */
	bool nul; /* accept "\u0000" in texts (not in keys): output of programs */
};

#define JSON_READ_BYTES ((size_t)16 << 20)
#define JSON_READ_DEPTH 64

/*
 * Reads exactly one value with nothing but white space around it. LIMITS may be NULL. Refused: text that is not
 * UTF-8, the same key twice in one object, numbers that do not fit, "\u0000" unless allowed. Errors name line
 * and column.
 */
int json_read(const char *bytes, size_t len, const struct json_limits *limits, struct value **ret,
	      struct error *err);

#endif
