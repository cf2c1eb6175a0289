/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a run while it lived. */
#include "observe/samples.h"

void samples_add(struct samples *samples, const struct usage_sample *sample)
{
	if (samples->stride == 0)
		samples->stride = 1;
	if (samples->seen++ % samples->stride != 0)
		return;
	if (samples->count == SAMPLES_KEPT) {
		for (size_t i = 0; i < SAMPLES_KEPT / 2; i++)
			samples->items[i] = samples->items[2 * i];
		samples->count = SAMPLES_KEPT / 2;
		samples->stride *= 2;
	}
	samples->items[samples->count++] = *sample;
}
