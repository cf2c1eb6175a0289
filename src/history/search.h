/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search in the record by words: commands, what was refused, kept output, changed files, and events such as snapshots and
 * tasks. STATE/search.db is an index over the journal, brought up to date by the search that needs it; it holds nothing
 * that cannot be made anew, and a damaged one is.
 *
 * What is indexed gets words added that people would look for: errors.tsv, commands.tsv.
 */
#ifndef HISTORY_SEARCH_H
#define HISTORY_SEARCH_H

#include "history/history.h"

struct search_filter {
	const char *owner;     /* only runs of it; NULL: everything */
	const char *workspace; /* only runs there; NULL: anywhere */
	const char *kind;      /* "run", or of an event: "snapshot", "promote", ...; NULL: any */
	bool is_failed;	       /* only runs that did not end well */
	uint64_t since_ms;     /* 0: from the beginning */
	uint64_t limit;
};

/*
 * The best first: a list of {kind, run_id or subject, time, status, exit_code, command, workspace, sandbox, line}. Those
 * with all of the WORDS come before those with some. `line` is where they were found, NULL when that is not kept.
 */
int history_search(struct history *history, const char *words, const struct search_filter *filter,
		   struct value **ret_list, struct error *err);

#endif
