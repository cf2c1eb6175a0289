/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the spec's codec: a spec that can be read is written and read back as the same. */
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "spec/codec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The spec as JSON, read back and written once more: both texts must be the same. */
static void check_round_trip(const struct spec *spec)
{
	owned(value_release) struct value *value = spec_to_value(spec), *again = NULL, *last = NULL;
	owned(str_done) struct str text = STR_INIT, second = STR_INIT;
	owned(spec_done) struct spec back;
	struct error err = { 0 };

	spec_init(&back);
	json_write(&text, value, 0);
	if (json_read(text.data, text.len, NULL, &again, &err) < 0 ||
	    spec_from_value(again, &back, &err) < 0)
		abort();
	last = spec_to_value(&back);
	json_write(&second, last, 0);
	if (strcmp(str_cstr(&text), str_cstr(&second)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(value_release) struct value *value = NULL;
	owned(spec_done) struct spec spec;
	struct error err = { 0 };

	spec_init(&spec);
	if (json_read((const char *)data, size, NULL, &value, &err) < 0)
		return 0;
	if (spec_from_value(value, &spec, &err) < 0) {
		if (!err.text[0] || spec.run_id || spec.trees)
			abort();
		return 0;
	}
	/* Whatever it holds, looking at it must be safe. */
	if (spec_check(&spec, &err) < 0 && !err.text[0])
		abort();
	check_round_trip(&spec);
	return 0;
}
