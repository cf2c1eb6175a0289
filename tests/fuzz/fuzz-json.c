/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the JSON reader: what it takes is written, read and written again without a change. */
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(value_release) struct value *value = NULL, *again = NULL;
	owned(str_done) struct str text = STR_INIT, second = STR_INIT;
	struct error err = { 0 };

	if (json_read((const char *)data, size, NULL, &value, &err) < 0) {
		if (value || err.code != ERROR_INPUT || !err.text[0])
			abort();
		return 0;
	}
	json_write(&text, value, 0);
	if (!utf8_valid(text.data, text.len) ||
	    json_read(text.data, text.len, NULL, &again, &err) < 0)
		abort();
	json_write(&second, again, 0);
	if (strcmp(str_cstr(&text), str_cstr(&second)) != 0)
		abort();
	return 0;
}
