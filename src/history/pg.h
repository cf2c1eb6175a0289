/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to PostgreSQL: a connection, statements, COPY.
 *
 * libpq brings some thirty libraries along, so it is loaded by the first connection and never linked. The server is not
 * trusted: each answer has a bound in bytes and in silence, and no text of it is an instruction.
 */
#ifndef HISTORY_PG_H
#define HISTORY_PG_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stddef.h>

struct pg;
struct pg_rows;

/*
 * Connects to postgres://[USER@]HOST[:PORT]/DATABASE[?OPTIONS]. A password in it is refused, as every user of the machine
 * can read arguments: libpq has files and variables for that. So is a server elsewhere that offers no TLS, unless sslmode
 * says so.
 */
int pg_open(const char *url, struct pg **ret_pg, struct error *err);
/* Cleanup for owned(pg_release) struct pg *pg. */
void pg_release(struct pg **slot);

/* Whether URL is one that pg_open would try; asks no server. */
int pg_check_url(const char *url, struct error *err);

/* Runs statements without results. */
int pg_execute(struct pg *pg, const char *sql, struct error *err);

/* One statement with COUNT parameters $1, $2, ... as text; NULL is NULL. */
int pg_query(struct pg *pg, const char *sql, const char *const *params, size_t count,
	     struct pg_rows **ret_rows, struct error *err);
/* Cleanup for owned(pg_rows_release) struct pg_rows *rows. */
void pg_rows_release(struct pg_rows **slot);
size_t pg_rows_count(const struct pg_rows *rows);
/* NULL for NULL, and for what is not there; columns are numbered from 0. */
const char *pg_text(const struct pg_rows *rows, size_t row, int column);

/* Hands DATA, in COPY's text form, to the statement COPY ... FROM STDIN. */
int pg_copy(struct pg *pg, const char *sql, const struct str *data, struct error *err);
/* Appends one value in that form; NULL is NULL. */
void pg_add_value(struct str *data, const char *text);

/* The server's own code of the last error, "42501"; "" when it had none. */
const char *pg_state(const struct pg *pg);

#endif
