/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of kept output. */
#include "observe/kept_log.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kept_frame frame;
	size_t offset = 0;
	volatile char last = 0;

	while (kept_log_next((const char *)data, size, &offset, &frame) > 0) {
		if (frame.len)
			last = frame.bytes[frame.len - 1];
	}
	(void)last;
	return 0;
}
