/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the history, version by version. */
#ifndef HISTORY_SCHEMA_H
#define HISTORY_SCHEMA_H

#include "history/db.h"

/* Brings DB to the version of this program. One of a newer program is ERROR_INPUT: nothing is changed. */
int schema_migrate(struct db *db, struct error *err);

#endif
