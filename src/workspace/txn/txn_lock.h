/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of transactions: one at a time on a target, and one process at a time on a transaction. */
#ifndef WORKSPACE_TXN_LOCK_H
#define WORKSPACE_TXN_LOCK_H

#include "base/core/error.h"

#include <stdbool.h>

/* Opens the target's root, locked against other transactions; waits for them, not for ever. */
int txn_lock_root(const char *path, int *ret_fd, struct error *err);
/* Locks the transaction's own directory; false when another process works on it. */
bool txn_lock_own(int dir_fd);

#endif
