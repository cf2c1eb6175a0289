/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of base identities: what it takes is written and read again without a change. */
#include "base/core/own.h"
#include "workspace/base/origin_record.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct origin_records *records, struct str *text)
{
	origin_records_begin(text);
	origin_records_put_time(text, records->at_ns);
	for (size_t i = 0; i < records->count; i++)
		origin_records_put(text, &records->items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(origin_records_done) struct origin_records records = { 0 }, again = { 0 };
	owned(str_done) struct str first = STR_INIT, second = STR_INIT;
	struct error err = { 0 };

	if (origin_records_parse((const char *)data, size, &records, &err) < 0) {
		if (!err.text[0] || records.items)
			abort();
		return 0;
	}
	write_all(&records, &first);
	if (origin_records_parse(str_cstr(&first), first.len, &again, &err) < 0 ||
	    again.count != records.count)
		abort();
	write_all(&again, &second);
	if (strcmp(str_cstr(&first), str_cstr(&second)) != 0)
		abort();
	origin_records_sort(&again);
	for (size_t i = 0; i < records.count; i++)
		if (!origin_records_find(&again, records.items[i].path, i % 2))
			abort();
	return 0;
}
