/* SPDX-License-Identifier: Apache-2.0 */
/* One spool record into rows. Private to history. */
#ifndef HISTORY_FOLD_RECORD_H
#define HISTORY_FOLD_RECORD_H

#include "history/db.h"
#include "history/spool.h"

/* Prepared once for many records. */
struct fold_statements {
	struct db_statement *start, *end, *result, *forget_denials, *denial, *event;
	struct db_statement *forget_samples, *sample, *journal;
};

int fold_statements_open(struct db *db, struct fold_statements *ret_statements, struct error *err);
void fold_statements_close(struct fold_statements *statements);

/* A body that is no JSON object of the kind is skipped: one bad record must not stop the rest. -1: the database failed. */
int fold_record(struct fold_statements *statements, const struct spool_record *record,
		struct error *err);

#endif
