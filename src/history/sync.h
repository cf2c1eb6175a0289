/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record sent to a shared one in PostgreSQL, in the order of the journal.
 *
 *   this edge                                   the server
 *   next := random, kept ────── hello ───────>  token is known or next: it becomes next; else a copy was here
 *   token := next       <────── acked ────────
 *   batch behind acked  ─ BEGIN COPY merge ──>  rows that are new, acked := last of the batch
 *   acked := last       <────── COMMIT ───────
 *
 * Killed anywhere on either side, the next sync goes on behind what the server has; a batch that comes twice adds nothing.
 */
#ifndef HISTORY_SYNC_H
#define HISTORY_SYNC_H

#include "history/history.h"
#include "history/pg.h"

struct sync_done {
	uint64_t sent, added;
	int64_t acked;
	char edge[37], server[37];
};

/*
 * Sends everything that is on record and not there yet. AS_NEW: as an edge that the server has never seen, which is what a
 * copied state directory has to become; what the server has of its runs and events is not added again.
 */
int history_sync(struct history *history, struct pg *pg, bool as_new, struct sync_done *ret_done,
		 struct error *err);

#endif
