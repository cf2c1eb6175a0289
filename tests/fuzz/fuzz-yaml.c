/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as YAML, typed and as text. */
#include "base/core/own.h"
#include "base/text/yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads it; a refusal must say why. */
static void try_as(const uint8_t *data, size_t size, enum yaml_scalars scalars)
{
	owned(value_release) struct value *value = NULL;
	struct error err = { .code = ERROR_NONE };

	if (yaml_read((const char *)data, size, "fuzz", scalars, &value, &err) == 0) {
		if (!value)
			abort();
	} else if (value || err.code == ERROR_NONE || strncmp(err.text, "fuzz:", 5) != 0) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_as(data, size, YAML_TYPED);
	try_as(data, size, YAML_TEXT);
	return 0;
}
