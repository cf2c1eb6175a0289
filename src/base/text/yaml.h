/* SPDX-License-Identifier: Apache-2.0 */
/* YAML in, as a neutral tree with line numbers; made for bytes that wish us ill. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/core/error.h"
#include "base/core/value.h"

#include <stddef.h>

#define YAML_MAX_BYTES (1024 * 1024)
#define YAML_MAX_DEPTH 32
#define YAML_MAX_NODES 10000

enum yaml_scalars {
	YAML_TYPED, /* plain null, true, 12 and 1.5 get their kind, as in YAML 1.2's core schema */
	YAML_TEXT,  /* text exactly as written (1.10 stays 1.10); only null keeps its kind */
};

/*
 * Reads one document. No anchors, aliases, tags, merge keys, directives or repeated keys: each is an
 * error, as is anything beyond the limits above. Errors begin with "ORIGIN:LINE:COLUMN: ". A value
 * in a map carries the line of its key. An empty document is a null value. The caller owns
 * *ret_value.
 */
int yaml_read(const char *bytes, size_t len, const char *origin, enum yaml_scalars scalars,
	      struct value **ret_value, struct error *err);

#endif
