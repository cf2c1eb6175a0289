/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite behind a small door. */
#include "history/db.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>

#define WAIT_MS 10000
#define RETRY_MS 5

struct db {
	sqlite3 *handle;
};

struct db_statement {
	sqlite3_stmt *handle;
	struct db *db;
};

static int fail(struct db *db, const char *what, struct error *err)
{
	int code = sqlite3_errcode(db->handle);

	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
		return error_advise(err, ERROR_INPUT,
				    "move history.db away: a new one is made, and what is still in "
				    "the spool is kept",
				    "the history database is damaged (%s)",
				    sqlite3_errmsg(db->handle));
	return error_set(err, ERROR_HOST, "history: %s: %s", what, sqlite3_errmsg(db->handle));
}

/*
 * SQLite would leave its mode to the umask. One that is there is left shut: to close it would give up the locks that another
 * handle of this process holds on it.
 */
static int make_private(const char *path, struct error *err)
{
	owned(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot open '%s'", path);
	return 0;
}

/*
 * SQLite itself does not wait where two switch a new database at the same moment: each reads it and would write, which neither
 * can while the other reads, and both get "locked" for an answer.
 */
static int use_wal(struct db *db, const char *name, struct error *err)
{
	owned(free_ptr) char *sql =
		xasprintf("PRAGMA %s.journal_mode=WAL; PRAGMA %s.synchronous=NORMAL", name, name);

	for (int waited_ms = 0;; waited_ms += RETRY_MS) {
		int status = db_execute(db, sql, err);

		if (status == 0 || sqlite3_errcode(db->handle) != SQLITE_BUSY ||
		    waited_ms >= WAIT_MS)
			return status;
		(void)sqlite3_sleep(RETRY_MS);
	}
}

int db_open(const char *path, struct db **ret_db, struct error *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
	struct db *db;

	if (make_private(path, err) < 0)
		return -1;
	db = xcalloc(1, sizeof(*db));
	if (sqlite3_open_v2(path, &db->handle, flags, NULL) != SQLITE_OK) {
		(void)fail(db, "cannot open", err);
		db_close(db);
		return -1;
	}
	(void)sqlite3_busy_timeout(db->handle, WAIT_MS);
	/* A row only repeats the spool: after a power cut the last seconds may be folded again. */
	if (use_wal(db, "main", err) < 0) {
		db_close(db);
		return -1;
	}
	*ret_db = db;
	return 0;
}

int db_attach(struct db *db, const char *path, const char *name, struct error *err)
{
	owned(db_statement_release) struct db_statement *statement = NULL;

	if (make_private(path, err) < 0 || db_prepare(db, "ATTACH ? AS ?", &statement, err) < 0)
		return -1;
	db_bind_text(statement, 1, path);
	db_bind_text(statement, 2, name);
	return db_run(statement, err) < 0 ? -1 : use_wal(db, name, err);
}

void db_close(struct db *db)
{
	if (!db)
		return;
	(void)sqlite3_close(db->handle);
	free(db);
}

int db_execute(struct db *db, const char *sql, struct error *err)
{
	return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : fail(db, "cannot execute", err);
}

int db_begin(struct db *db, struct error *err)
{
	return db_execute(db, "BEGIN IMMEDIATE", err);
}

int db_commit(struct db *db, struct error *err)
{
	return db_execute(db, "COMMIT", err);
}

void db_rollback(struct db *db)
{
	struct error ignored;

	(void)db_execute(db, "ROLLBACK", &ignored);
}

int db_prepare(struct db *db, const char *sql, struct db_statement **ret_statement,
	       struct error *err)
{
	struct db_statement *statement = xcalloc(1, sizeof(*statement));

	statement->db = db;
	if (sqlite3_prepare_v2(db->handle, sql, -1, &statement->handle, NULL) != SQLITE_OK) {
		free(statement);
		return fail(db, "cannot prepare", err);
	}
	*ret_statement = statement;
	return 0;
}

void db_finalize(struct db_statement *statement)
{
	if (!statement)
		return;
	(void)sqlite3_finalize(statement->handle);
	free(statement);
}

void db_statement_release(struct db_statement **slot)
{
	db_finalize(*slot);
	*slot = NULL;
}

void db_bind_text(struct db_statement *statement, int place, const char *text)
{
	(void)sqlite3_bind_text(statement->handle, place, text, -1, SQLITE_TRANSIENT);
}

void db_bind_int(struct db_statement *statement, int place, int64_t number)
{
	(void)sqlite3_bind_int64(statement->handle, place, number);
}

void db_bind_real(struct db_statement *statement, int place, double number)
{
	(void)sqlite3_bind_double(statement->handle, place, number);
}

void db_bind_null(struct db_statement *statement, int place)
{
	(void)sqlite3_bind_null(statement->handle, place);
}

int db_step(struct db_statement *statement, struct error *err)
{
	int code = sqlite3_step(statement->handle);

	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE) {
		(void)sqlite3_reset(statement->handle);
		return 0;
	}
	(void)fail(statement->db, "cannot read or write", err);
	(void)sqlite3_reset(statement->handle);
	return -1;
}

void db_reset(struct db_statement *statement)
{
	(void)sqlite3_reset(statement->handle);
}

int db_run(struct db_statement *statement, struct error *err)
{
	int got = db_step(statement, err);

	if (got > 0)
		(void)sqlite3_reset(statement->handle);
	return got < 0 ? -1 : 0;
}

const char *db_text(struct db_statement *statement, int column)
{
	return (const char *)sqlite3_column_text(statement->handle, column);
}

int64_t db_int(struct db_statement *statement, int column)
{
	return sqlite3_column_int64(statement->handle, column);
}

double db_real(struct db_statement *statement, int column)
{
	return sqlite3_column_double(statement->handle, column);
}

bool db_is_null(struct db_statement *statement, int column)
{
	return sqlite3_column_type(statement->handle, column) == SQLITE_NULL;
}

int64_t db_changes(struct db *db)
{
	return sqlite3_changes64(db->handle);
}
