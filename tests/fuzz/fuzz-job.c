/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes job files, and what is made of a job that was read: its patterns and its times. */
#include "base/core/own.h"
#include "decide/job/job.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t now_ms = UINT64_C(1794950508008);
	owned(job_done) struct job job;
	struct error err = { 0 };

	job_init(&job);
	if (job_read((const char *)data, size, "fuzz", &job, &err) < 0)
		return 0;
	for (size_t i = 0; i < job.on_change.count; i++) {
		owned(free_ptr) char *root = job_pattern_root(job.on_change.items[i]);

		(void)job_pattern_matches(job.on_change.items[i], root);
	}
	if (job.every_ms > 0 && job_slot(&job, JOB_EVERY, now_ms, now_ms) != 0)
		__builtin_trap();
	if (job.at_minute >= 0 &&
	    job_slot_begins(&job, JOB_AT, now_ms, job_slot(&job, JOB_AT, now_ms, now_ms)) > now_ms)
		__builtin_trap();
	(void)job_is_quiet(&job, now_ms);
	return 0;
}
