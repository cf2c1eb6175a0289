/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of a transaction's journal: records lie within the buffer, and what is read makes sense. */
#include "workspace/txn/txn_parts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_items(const struct txn *txn)
{
	for (size_t i = 0; i < txn->count; i++) {
		const struct txn_item *item = &txn->items[i];

		if (item->kind < TXN_REPLACE || item->kind > TXN_META)
			abort();
		if (item->kind != TXN_META && !txn_path_is_clean(item->path))
			abort();
		if (item->kind != TXN_META && item->kind != TXN_MOVE &&
		    item->place >= txn->place_count)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct journal_record record;
	struct error err = { 0 };
	size_t offset = 0, before = 0;
	struct txn txn;

	for (uint64_t seq = 0; journal_next(bytes, size, &offset, seq, &record); seq++) {
		if (offset <= before || offset > size || record.body + record.len != data + offset)
			abort();
		before = offset;
	}
	txn_init(&txn);
	if (txn_log_parse(&txn, bytes, size, &err) == 0) {
		check_items(&txn);
		if (txn.count > 0 && txn_where_prepare(&txn, &err) < 0)
			abort();
	} else if (err.code != ERROR_INPUT) {
		abort();
	}
	txn_done(&txn);
	return 0;
}
