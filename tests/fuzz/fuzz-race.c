/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes race files, and what a check may write as its score. */
#include "base/core/own.h"
#include "decide/race/race.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(race_plan_done) struct race_plan plan;
	struct error err = { 0 };
	double score;

	race_plan_init(&plan);
	(void)race_read((const char *)data, size, "fuzz", &plan, &err);
	(void)race_score((const char *)data, size, &score);
	return 0;
}
