/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions outside the store that the store knows nothing of. */
#ifndef WORKSPACE_TXN_ORPHAN_H
#define WORKSPACE_TXN_ORPHAN_H

#include "base/str.h"

#include <stdbool.h>

/* Transactions that no record of the store names. */
struct txn_orphans {
	struct strv removed, left; /* absolute paths */
};
/*
 * Looks through BASE, a staging directory outside the store, for transactions that IS_CLAIMED knows nothing of: those that
 * ended without effect are removed, those that could be undone after 30 days; all others are left.
 */
void txn_sweep_orphans(const char *base, bool (*is_claimed)(const char *id, void *cookie),
		       void *cookie, struct txn_orphans *orphans);

#endif
