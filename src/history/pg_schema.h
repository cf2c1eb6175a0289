/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a shared record in PostgreSQL: made, brought up to date, or refused. */
#ifndef HISTORY_PG_SCHEMA_H
#define HISTORY_PG_SCHEMA_H

#include "history/pg.h"

#include <stdbool.h>

#define PG_SERVER_SIZE 37

/*
 * Looks which version the database has; MAY_CHANGE: takes the steps that are missing, where this role can. Refused: a newer
 * version than this program knows, an older one that cannot be changed, a database that holds no record. *ret_server names
 * the record: another one, or the same made anew, has another name.
 */
int pg_schema_open(struct pg *pg, bool may_change, char ret_server[static PG_SERVER_SIZE],
		   struct error *err);

#endif
