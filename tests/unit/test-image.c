/* SPDX-License-Identifier: Apache-2.0 */
/* A spec in one piece of memory: all of it is there, and nothing of the original is needed. */
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "spec/codec.h"
#include "spec/image.h"
#include "tests/tap.h"
#include "tests/unit/sample_spec.h"

#include <stdlib.h>

static char *written(const struct spec *spec)
{
	owned(value_release) struct value *value = spec_to_value(spec);
	struct str out = STR_INIT;

	json_write(&out, value, 0);
	return str_detach(&out);
}

/* Whether it fits in exactly so much, which the sanitizers watch. */
static bool fits(const struct spec *spec, size_t size)
{
	owned(free_ptr) char *memory = xcalloc(1, size ? size : 1);

	return spec_image_make(spec, memory, size) != NULL;
}

/* The smallest that it fits in. */
static size_t smallest(const struct spec *spec)
{
	size_t low = 0, high = (size_t)1 << 20;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (fits(spec, middle))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void test_copy(const char *what, struct spec *spec)
{
	size_t size = smallest(spec);
	owned(free_ptr) char *memory = xcalloc(1, size);
	owned(free_ptr) char *before = written(spec);
	const struct spec *copy = spec_image_make(spec, memory, size);
	unsigned wrong = 0;

	if (!tap_ok(copy != NULL, "%s fits in %zu bytes", what, size))
		return;
	tap_ok(!fits(spec, size - 1), "%s: and in no less", what);
	for (size_t i = 0; i < size; i += 64)
		wrong += fits(spec, i);
	tap_is_int(wrong, 0, "%s: nor in any other size below", what);
	spec_done(spec);
	owned(free_ptr) char *after = written(copy);

	tap_is_str(after, before, "%s is the same when the original is gone", what);
}

int main(void)
{
	struct spec spec;

	sample_spec(&spec);
	test_copy("a spec with something in every field", &spec);
	/* A choice of it stands in for each: a list that was never used has no items, one that was emptied has. */
	spec_init(&spec);
	test_copy("an empty one", &spec);
	spec_init(&spec);
	strv_add(&spec.env, "A=1");
	strv_add(&spec.command, "");
	test_copy("one with little", &spec);
	return tap_done();
}
