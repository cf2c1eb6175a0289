/* SPDX-License-Identifier: Apache-2.0 */
/* Samples: a bounded row that still covers the whole run. */
#include "observe/samples.h"

#include "tests/tap.h"

int main(void)
{
	struct samples samples = { 0 };

	for (uint64_t i = 0; i < 10; i++)
		samples_add(&samples, &(struct usage_sample){ .at_ms = i });
	tap_is_int((int64_t)samples.count, 10, "a few are all kept");
	for (uint64_t i = 10; i < 100000; i++)
		samples_add(&samples, &(struct usage_sample){ .at_ms = i });
	tap_ok(samples.count > SAMPLES_KEPT / 2 - 1 && samples.count <= SAMPLES_KEPT,
	       "many are thinned out: %zu", samples.count);
	tap_is_int((int64_t)samples.items[0].at_ms, 0, "the first is there");
	tap_ok(samples.items[samples.count - 1].at_ms > 90000, "and a late one");
	for (size_t i = 2; i < samples.count; i++) {
		uint64_t step = samples.items[1].at_ms - samples.items[0].at_ms;

		if (samples.items[i].at_ms - samples.items[i - 1].at_ms != step)
			return tap_ok(false, "evenly spaced at %zu", i), tap_done();
	}
	tap_ok(true, "evenly spaced");
	return tap_done();
}
