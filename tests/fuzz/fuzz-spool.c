/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the spool reader: records lie within the buffer, the offset only grows, every byte is accounted for. */
#include "history/spool.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *buffer = (const char *)data;
	uint64_t offset = 0, skipped = 0, in_records = 0, before = 0;
	struct spool_record record;

	while (spool_next(buffer, size, &offset, &record, &skipped) > 0) {
		if (offset <= before || offset > size || record.offset < before)
			abort();
		if (record.body < buffer || record.body + record.len != buffer + offset)
			abort();
		in_records += offset - record.offset;
		before = offset;
	}
	if (offset < before || offset > size || in_records + skipped != offset)
		abort();
	return 0;
}
