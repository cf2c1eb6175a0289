/* SPDX-License-Identifier: Apache-2.0 */
/* A spec as a tree of values, both ways: `aisbx plan --json`, history, and reading back. */
#ifndef SPEC_CODEC_H
#define SPEC_CODEC_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "spec/spec.h"

/*
 * Every field, each in its place; the caller owns the tree. Text that is not UTF-8 becomes {"base64": "..."} and
 * numbers beyond int64 become decimal text, so that JSON carries everything exactly.
 */
struct value *spec_to_value(const struct spec *spec);

/*
 * The way back, strict: a missing key, an unknown one or a value of the wrong kind is an error that names it. Form
 * only: call spec_check as well. ret_spec is initialised here; on failure there is nothing to free.
 */
int spec_from_value(const struct value *value, struct spec *ret_spec, struct error *err);

#endif
