/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the history, version by version. A step is never changed once it was released: add another.
 *
 * runs      one row a run; run_id sorts by time, so the key is the order in which people look
 * results   the result object as it was recorded, apart: lists and figures need only the narrow rows
 * denials   what was refused to a run
 * events    what is no run: guard decisions, snapshots, promotions, gates, races; body as recorded
 * samples   figures of a run while it lived
 * artifacts what was kept with its hash
 * journal   the order in which records came: what an event's id counts. kind as in the spool (START, END, EVENT); key: the
 *           run_id, or the id of the row in events
 * sent      the last record of the journal that a collector was sent, by the collector's address
 * edges     what this directory is called by each server it is synced to: history/sync.h
 * spools    how far each spool file has been folded; changed in the transaction that adds its rows
 */
#include "history/schema.h"

#include "base/core/own.h"

#include <stdio.h>

static const char *const steps[] = {
	"CREATE TABLE runs(run_id TEXT PRIMARY KEY, trace_id TEXT, sandbox TEXT, command TEXT NOT "
	"NULL,"
	" workspace TEXT, driver TEXT, status TEXT, exit_code INTEGER, signal INTEGER,"
	" started_ms INTEGER NOT NULL, duration_ms REAL, start_ms REAL, cpu_ms REAL,"
	" peak_memory INTEGER, files INTEGER, denials INTEGER, net_denials INTEGER,"
	" supervisor INTEGER) WITHOUT ROWID;"
	"CREATE INDEX runs_sandbox ON runs(sandbox, run_id);"
	"CREATE INDEX runs_status ON runs(status, run_id);"
	"CREATE INDEX runs_trace ON runs(trace_id, run_id) WHERE trace_id IS NOT NULL;"
	"CREATE TABLE results(run_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE denials(run_id TEXT NOT NULL, layer TEXT, what TEXT, rule TEXT, hint TEXT,"
	" count INTEGER);"
	"CREATE INDEX denials_run ON denials(run_id);"
	"CREATE TABLE events(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,"
	" sandbox TEXT, subject TEXT, body TEXT NOT NULL);"
	"CREATE INDEX events_kind ON events(kind, at_ms);"
	"CREATE INDEX events_sandbox ON events(sandbox, at_ms);"
	"CREATE TABLE samples(run_id TEXT NOT NULL, at_ms INTEGER NOT NULL, cpu_us INTEGER,"
	" memory INTEGER, pids INTEGER, disk INTEGER);"
	"CREATE INDEX samples_run ON samples(run_id, at_ms);"
	"CREATE TABLE artifacts(id TEXT PRIMARY KEY, sandbox TEXT, path TEXT, sha256 TEXT,"
	" size INTEGER, made_ms INTEGER, body TEXT) WITHOUT ROWID;"
	"CREATE TABLE spools(inode INTEGER NOT NULL, born_ns INTEGER NOT NULL, done INTEGER NOT "
	"NULL,"
	" PRIMARY KEY(inode, born_ns)) WITHOUT ROWID;",
	/* Whose run it was: an MCP server's; none for a person's. */
	"ALTER TABLE runs ADD COLUMN owner TEXT;"
	"CREATE INDEX runs_owner ON runs(owner, run_id) WHERE owner IS NOT NULL;",
	/* What was recorded before has the order of its times. limits: a JSON list, NULL for none. */
	"ALTER TABLE runs ADD COLUMN start TEXT;"
	"ALTER TABLE runs ADD COLUMN queued_ms REAL;"
	"ALTER TABLE runs ADD COLUMN limits TEXT;"
	"CREATE TABLE journal(seq INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL,"
	" key TEXT NOT NULL, UNIQUE(kind, key));"
	"INSERT INTO journal(kind,key) SELECT kind,key FROM"
	" (SELECT 1 AS kind,run_id AS key,started_ms AS at FROM runs UNION ALL"
	" SELECT 2,run_id,started_ms+ifnull(duration_ms,0) FROM runs WHERE status IS NOT NULL"
	" UNION ALL SELECT 3,id,at_ms FROM events) ORDER BY at,kind,key;",
	"CREATE TABLE IF NOT EXISTS sent(collector TEXT PRIMARY KEY, seq INTEGER NOT NULL)"
	" WITHOUT ROWID;",
	"CREATE TABLE IF NOT EXISTS edges(server TEXT PRIMARY KEY, edge TEXT NOT NULL, token TEXT "
	"NOT NULL,"
	" next TEXT NOT NULL, acked INTEGER NOT NULL) WITHOUT ROWID;",
};

#define VERSION ((int64_t)(sizeof(steps) / sizeof(steps[0])))

static int version_of(struct db *db, int64_t *ret_version, struct error *err)
{
	owned(db_statement_release) struct db_statement *statement = NULL;

	if (db_prepare(db, "PRAGMA user_version", &statement, err) < 0 ||
	    db_step(statement, err) < 0)
		return -1;
	*ret_version = db_int(statement, 0);
	return 0;
}

static int apply(struct db *db, struct error *err)
{
	int64_t version;
	char mark[48];

	/* Another process may have been faster. */
	if (version_of(db, &version, err) < 0)
		return -1;
	for (; version < VERSION; version++) {
		if (db_execute(db, steps[version], err) < 0)
			return -1;
	}
	(void)snprintf(mark, sizeof(mark), "PRAGMA user_version=%lld", (long long)version);
	return db_execute(db, mark, err);
}

int schema_migrate(struct db *db, struct error *err)
{
	int64_t version;

	if (version_of(db, &version, err) < 0)
		return -1;
	if (version > VERSION)
		return error_advise(
			err, ERROR_INPUT, "use that one",
			"history.db is of a newer aisbx (format %lld, this one knows %lld)",
			(long long)version, (long long)VERSION);
	if (version == VERSION)
		return 0;
	if (db_begin(db, err) < 0)
		return -1;
	if (apply(db, err) < 0) {
		db_rollback(db);
		return -1;
	}
	return db_commit(db, err);
}
