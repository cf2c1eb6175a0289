/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: spool records into rows, each exactly once. Private to history. */
#ifndef HISTORY_FOLD_H
#define HISTORY_FOLD_H

#include "history/db.h"

/*
 * Folds every spool file of STATE_DIR as far as it has whole records; retires a spool that has grown large, removes
 * retired ones that are folded and have no writer any more. Runs whose supervisor died without an end record become
 * "killed".
 */
int fold_spools(struct db *db, const char *state_dir, struct error *err);

#endif
