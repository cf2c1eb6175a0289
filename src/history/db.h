/* SPDX-License-Identifier: Apache-2.0 */
/* The one door to SQLite: open, statements, transactions. */
#ifndef HISTORY_DB_H
#define HISTORY_DB_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct db;
struct db_statement;

/*
 * Opens the database at PATH, making it (0600), in WAL mode; waits up to ten seconds for others. A file that is no
 * database, or damaged, is ERROR_INPUT with the remedy.
 */
int db_open(const char *path, struct db **ret_db, struct error *err);
/* A second one, made like the first, whose tables are NAME.TABLE; NAME is ours. */
int db_attach(struct db *db, const char *path, const char *name, struct error *err);
/* Accepts NULL. */
void db_close(struct db *db);

/* Runs statements without results. */
int db_execute(struct db *db, const char *sql, struct error *err);

/* A writing transaction: it excludes other writers until it ends. */
int db_begin(struct db *db, struct error *err);
int db_commit(struct db *db, struct error *err);
void db_rollback(struct db *db);

int db_prepare(struct db *db, const char *sql, struct db_statement **ret_statement,
	       struct error *err);
void db_finalize(struct db_statement *statement);
/* Cleanup for owned(db_statement_release) struct db_statement *s. */
void db_statement_release(struct db_statement **slot);

/* Places are numbered from 1. NULL text binds NULL; text is copied. */
void db_bind_text(struct db_statement *statement, int place, const char *text);
void db_bind_int(struct db_statement *statement, int place, int64_t number);
void db_bind_real(struct db_statement *statement, int place, double number);
void db_bind_null(struct db_statement *statement, int place);

/* 1: there is a row; 0: done, and ready to be bound anew; -1: failed. */
int db_step(struct db_statement *statement, struct error *err);
/* For statements without rows: binds stay, ready to run again. */
int db_run(struct db_statement *statement, struct error *err);
/* Leaves the rows that were not read. */
void db_reset(struct db_statement *statement);

/* Columns are numbered from 0. Text is the statement's until the next step; NULL for NULL. */
const char *db_text(struct db_statement *statement, int column);
int64_t db_int(struct db_statement *statement, int column);
double db_real(struct db_statement *statement, int column);
bool db_is_null(struct db_statement *statement, int column);

/* Rows that the last statement changed. */
int64_t db_changes(struct db *db);

#endif
