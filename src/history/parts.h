/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of history share. Private to history. */
#ifndef HISTORY_PARTS_H
#define HISTORY_PARTS_H

#include "base/core/value.h"
#include "history/db.h"

struct history {
	struct db *db;
	char *state_dir;
};

/*
 * An exclusive lock on the file NAME of the state directory, held while *RET_FD is open. BUSY: the error's words while another
 * process holds it; NULL: it is waited for.
 */
int history_lock(const struct history *history, const char *name, const char *busy, int *ret_fd,
		 struct error *err);

/* Columns of a row as values. */
struct value *history_number(struct db_statement *row, int column, bool is_real); /* or null */
struct value *history_time(int64_t epoch_ms);
struct value *history_words(const char *json); /* a list that is kept as JSON; empty for NULL */

#endif
