/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of promotion records: what it takes has a place, a state and an id that fit. */
#include "base/core/own.h"
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };
	struct error err = { 0 };

	if (promotion_parse((const char *)data, size, &entry, &err) < 0) {
		if (!err.text[0] || entry.target)
			abort();
		return 0;
	}
	if (!entry.sandbox || !entry.sandbox_id || !entry.state || entry.target[0] != '/' ||
	    strlen(entry.id) >= sizeof(entry.id) || strlen(entry.digest) >= sizeof(entry.digest))
		abort();
	return 0;
}
