/* SPDX-License-Identifier: Apache-2.0 */
/* What stopped a transaction, item by item, and the error that sums it up. */
#include "workspace/txn/txn_lease.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <stdlib.h>

void txn_conflict_add(struct txn_result *result, const struct txn *txn, size_t item,
		      const char *kind)
{
	bool is_item = item != TXN_NONE_INDEX;

	txn_conflict_add_path(result, is_item ? txn->items[item].path : "", kind);
	if (is_item)
		result->conflicts[result->conflict_count - 1].op = txn->items[item].plan_index;
}

void txn_conflict_add_path(struct txn_result *result, const char *path, const char *kind)
{
	result->conflicts =
		xrealloc(result->conflicts, result->conflict_count + 1, sizeof(*result->conflicts));
	result->conflicts[result->conflict_count++] =
		(struct txn_conflict){ .op = SIZE_MAX, .path = xstrdup(path), .kind = kind };
}

const char *txn_conflict_kind(const struct txn *txn, size_t item)
{
	if (item == TXN_NONE_INDEX)
		return NULL;
	if (errno == EBUSY)
		return txn_lease_is_broken(&txn->items[item]) || txn->items[item].is_busy
			       ? "busy"
			       : "mount-point";
	return errno == ESTALE || errno == EEXIST || errno == ENOENT ? "changed" : NULL;
}

int txn_conflict_error(const struct txn_result *result, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (result->conflict_count == 1)
		return error_set(err, ERROR_CONFLICT, "'%s': %s",
				 str_shown(result->conflicts[0].path, shown),
				 result->conflicts[0].kind);
	return error_set(err, ERROR_CONFLICT,
			 "%zu targets are not what they were, the first '%s': %s",
			 result->conflict_count, str_shown(result->conflicts[0].path, shown),
			 result->conflicts[0].kind);
}

void txn_result_done(struct txn_result *result)
{
	for (size_t i = 0; i < result->conflict_count; i++)
		free(result->conflicts[i].path);
	free(result->conflicts);
	free(result->directory);
	*result = (struct txn_result){ 0 };
}
