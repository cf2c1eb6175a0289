/* SPDX-License-Identifier: Apache-2.0 */
/* Writers of files that a transaction displaces. Private to txn. */
#ifndef WORKSPACE_TXN_LEASE_H
#define WORKSPACE_TXN_LEASE_H

#include "workspace/txn/txn_parts.h"

/* Takes leases on what will be displaced; what is open for writing is a conflict. */
void txn_lease_all(struct txn *txn, bool forward, struct txn_result *result);
/* Whether a writer waits for what the item displaced. */
bool txn_lease_is_broken(const struct txn_item *item);
/*
 * Whether nothing has written, or can still write, to the file that the item displaced: into its slot or, IS_IN_PLACE, with
 * the whole tree. 0, or -1 with errno: EBUSY, ESTALE, or why that cannot be determined.
 */
int txn_lease_check(struct txn *txn, size_t index, bool forward, bool is_in_place);
void txn_lease_drop(struct txn *txn);

#endif
