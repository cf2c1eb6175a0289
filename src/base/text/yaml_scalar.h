/* SPDX-License-Identifier: Apache-2.0 */
/* What a plain word of YAML means, by the core schema of YAML 1.2. */
#ifndef BASE_YAML_SCALAR_H
#define BASE_YAML_SCALAR_H

#include "base/core/value.h"

#include <stdbool.h>
#include <stddef.h>

/* The empty word, ~ and null. */
bool yaml_scalar_is_null(const char *text);

/* A boolean, a number, or text. NULL when it is a number that no field of ours can hold. */
struct value *yaml_scalar_typed(const char *text, size_t len);

#endif
