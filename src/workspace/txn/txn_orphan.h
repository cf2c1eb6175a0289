/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions outside the store that the store knows nothing of. */
#ifndef WORKSPACE_TXN_ORPHAN_H
#define WORKSPACE_TXN_ORPHAN_H

#include "base/core/str.h"

#include <stdbool.h>

/* Transactions that no record of the store names. */
struct txn_orphans {
	struct strv removed, left; /* absolute paths */
	struct strv
		stores; /* for each that is left, the path of its store; "" where none is named */
};

/* Names the store of STAGING in DIR_FD, a directory of a transaction outside of it. STAGING may be NULL. */
void txn_note_store(int dir_fd, const char *staging);

/*
 * Looks through BASE, a staging directory outside the store, for transactions that IS_CLAIMED knows nothing of: those that
 * ended without effect are removed, others after 30 days if the store they name is there and has no record of them.
 */
void txn_sweep_orphans(const char *base, bool (*is_claimed)(const char *id, void *cookie),
		       void *cookie, struct txn_orphans *orphans);

#endif
