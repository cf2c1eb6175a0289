/* SPDX-License-Identifier: Apache-2.0 */
/* What the index and the questions to it share. Private to history. */
#ifndef HISTORY_SEARCH_PARTS_H
#define HISTORY_SEARCH_PARTS_H

#include "history/parts.h"
#include "history/search.h"

/* A row of errors.tsv or commands.tsv, ended by one without a text. */
struct meaning {
	const char *text, *means;
};

extern const struct meaning error_meanings[], command_meanings[];

/* The index is attached to the history's database as `search`, and holds all that is on record. */
int search_index_open(struct history *history, struct error *err);

/* The end of a run's kept output, control bytes as blanks but for newlines; nothing when none is kept. */
void search_read_output(const struct history *history, const char *run_id, struct str *ret_text);

#endif
