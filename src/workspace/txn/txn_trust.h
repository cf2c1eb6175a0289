/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a transaction found on the disk is one of ours.
 *
 * A checksum proves that a journal is whole, not who wrote it: directories beside a target may be writable to others, and
 * a repository can bring files of any name. So nothing is read that the caller does not own alone, nothing is removed that
 * is not named as a transaction names its own, and what the store knows is compared.
 */
#ifndef WORKSPACE_TXN_TRUST_H
#define WORKSPACE_TXN_TRUST_H

#include "base/core/error.h"

#include <stdbool.h>

struct txn;

/* Whether a directory or a file is the caller's alone. */
bool txn_is_private(int fd);

/* Whether a journal that was read names nothing but what a transaction of that directory would. */
int txn_check_names(const struct txn *txn, struct error *err);

/*
 * Whether the journal in DIRECTORY is about TARGET, as the record of the promotion says; and with WAS_DONE, whether it
 * still holds the commit record. ERROR_DENIED: it is not ours, or was modified.
 */
int txn_match(const char *directory, const char *target, bool was_done, struct error *err);

#endif
