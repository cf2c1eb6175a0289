/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a shared record: what history.h answers for one machine, for all that sync to a database. */
#ifndef HISTORY_FLEET_H
#define HISTORY_FLEET_H

#include "history/history.h"
#include "history/pg.h"

/* As history_list, with `host` and `edge` of each run; times are those of the edges' clocks. */
int fleet_list(struct pg *pg, const struct history_filter *filter, struct value **ret_list,
	       struct error *err);

/* As history_stats, and `edges`. */
int fleet_stats(struct pg *pg, uint64_t since_ms, struct value **ret_stats, struct error *err);

#endif
