/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a shared record, version by version. A step is never changed once it was released: add another.
 *
 * edges    one row for each state directory that sends: who may write for it, how far it has come, and a token that changes
 *          with each sync, by which a copy of the directory is noticed
 * records  what the edges recorded, one row an entry of their journal; never changed. kind: 1 a run under way, 2 a run that
 *          ended, 3 an event. key: what is recorded, whichever edge sends it; an edge's seq has one, so that this one
 *          index, half of the cost of a merge, finds what comes twice from one edge and from its copies
 * inbox    where a batch is copied to; merge() takes it on in the same transaction
 * runs, events, denials: the same for people and reports
 *
 * Edges need to execute about(), hello() and merge() and to insert into inbox, and nothing else: they cannot read. The
 * functions run with their owner's rights and never touch an object that an edge could have made.
 */
#include "history/pg_schema.h"

#include "base/core/own.h"

#include <stdio.h>
#include <stdlib.h>

/* All but the body, which the inbox has as text: JSON is parsed once. */
#define COLUMNS                                                                               \
	"edge,seq,kind,key,started_ms,duration_ms,trace_id,sandbox,command,workspace,driver," \
	"owner,status,exit_code,start_ms,cpu_ms,peak_memory,files,denials,net_denials,event," \
	"subject"

static const char *const steps[] = {
	"CREATE SCHEMA IF NOT EXISTS aisbx;"
	"CREATE TABLE aisbx.meta(version int NOT NULL, server uuid NOT NULL);"
	"INSERT INTO aisbx.meta VALUES(0, gen_random_uuid());"
	"CREATE TABLE aisbx.edges(edge uuid PRIMARY KEY, token text NOT NULL, host text,"
	" owner name NOT NULL, acked bigint NOT NULL DEFAULT 0,"
	" first_seen timestamptz NOT NULL DEFAULT now(),"
	" last_seen timestamptz NOT NULL DEFAULT now());"
	"CREATE TABLE aisbx.records(edge uuid NOT NULL, seq bigint NOT NULL,"
	" kind smallint NOT NULL, key text COLLATE \"C\" NOT NULL, started_ms bigint NOT NULL,"
	" duration_ms float8, trace_id text, sandbox text, command text, workspace text,"
	" driver text, owner text, status text, exit_code int, start_ms float8, cpu_ms float8,"
	" peak_memory bigint, files bigint, denials bigint, net_denials bigint, event text,"
	" subject text, body json, received timestamptz NOT NULL DEFAULT now(),"
	" PRIMARY KEY(kind, key));"
	"CREATE INDEX records_started ON aisbx.records USING brin(started_ms);"
	"CREATE UNLOGGED TABLE aisbx.inbox(edge uuid NOT NULL, seq bigint NOT NULL,"
	" kind smallint NOT NULL, key text COLLATE \"C\" NOT NULL, started_ms bigint NOT NULL,"
	" duration_ms float8, trace_id text, sandbox text, command text, workspace text,"
	" driver text, owner text, status text, exit_code int, start_ms float8, cpu_ms float8,"
	" peak_memory bigint, files bigint, denials bigint, net_denials bigint, event text,"
	" subject text, body text);"
	"CREATE FUNCTION aisbx.about() RETURNS TABLE(version int, server uuid) LANGUAGE sql STABLE"
	" SECURITY DEFINER SET search_path=pg_catalog"
	" AS 'SELECT version, server FROM aisbx.meta';"
	/* AX001: another copy of the directory was here; AX002: the edge is another role's. */
	"CREATE FUNCTION aisbx.hello(who uuid, known text, next text, machine text)"
	" RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path=pg_catalog AS $$"
	" DECLARE it aisbx.edges; BEGIN"
	" INSERT INTO aisbx.edges(edge,token,host,owner) VALUES(who,next,machine,session_user)"
	" ON CONFLICT DO NOTHING;"
	" SELECT * INTO it FROM aisbx.edges WHERE edge=who FOR UPDATE;"
	" IF it.owner<>session_user THEN RAISE EXCEPTION 'the edge is another role''s'"
	" USING ERRCODE='AX002'; END IF;"
	" IF it.token NOT IN (known,next) THEN RAISE EXCEPTION 'the edge was here with another"
	" token' USING ERRCODE='AX001'; END IF;"
	" UPDATE aisbx.edges SET token=next,host=machine,last_seen=now() WHERE edge=who;"
	" RETURN it.acked; END $$;"
	/* Only rows that this transaction copied: what another left in the inbox is not this edge's. */
	"CREATE FUNCTION aisbx.merge(who uuid, known text, last bigint) RETURNS bigint"
	" LANGUAGE plpgsql SECURITY DEFINER SET search_path=pg_catalog AS $$"
	" DECLARE it aisbx.edges; added bigint; BEGIN"
	" SELECT * INTO it FROM aisbx.edges WHERE edge=who FOR UPDATE;"
	" IF it.owner IS DISTINCT FROM session_user THEN RAISE EXCEPTION 'the edge is another"
	" role''s' USING ERRCODE='AX002'; END IF;"
	" IF it.token<>known THEN RAISE EXCEPTION 'the edge was here with another token'"
	" USING ERRCODE='AX001'; END IF;"
	" INSERT INTO aisbx.records(" COLUMNS ",body) SELECT " COLUMNS
	",body::json FROM aisbx.inbox"
	" WHERE xmin=pg_current_xact_id()::xid AND edge=who ORDER BY kind,key"
	" ON CONFLICT DO NOTHING;"
	" GET DIAGNOSTICS added=ROW_COUNT;"
	" DELETE FROM aisbx.inbox WHERE xmin=pg_current_xact_id()::xid;"
	" UPDATE aisbx.edges SET acked=greatest(acked,last),last_seen=now() WHERE edge=who;"
	" RETURN added; END $$;"
	"REVOKE ALL ON FUNCTION aisbx.about(), aisbx.hello(uuid,text,text,text),"
	" aisbx.merge(uuid,text,bigint) FROM PUBLIC;"
	"CREATE VIEW aisbx.runs AS SELECT r.edge,e.host,r.key AS run_id,r.trace_id,r.sandbox,"
	"r.command,r.workspace,r.driver,coalesce(r.status,'running') AS status,r.exit_code,"
	"r.started_ms,r.duration_ms,r.cpu_ms,r.peak_memory,r.files,r.denials,r.owner,r.start_ms,"
	"r.received,r.body AS result FROM aisbx.records r JOIN aisbx.edges e USING(edge)"
	" WHERE r.kind=2 OR (r.kind=1 AND NOT EXISTS(SELECT FROM aisbx.records x"
	" WHERE x.kind=2 AND x.key=r.key));"
	"CREATE VIEW aisbx.events AS SELECT r.edge,e.host,r.started_ms AS at_ms,r.event,r.sandbox,"
	"r.subject,r.received,r.body FROM aisbx.records r JOIN aisbx.edges e USING(edge)"
	" WHERE r.kind=3;"
	"CREATE VIEW aisbx.denials AS SELECT r.edge,r.key AS run_id,d->>'layer' AS layer,"
	"d->>'what' AS what,d->>'rule' AS rule,d->>'hint' AS hint FROM aisbx.records r,"
	"json_array_elements(CASE json_typeof(r.body->'denials') WHEN 'array' THEN"
	" r.body->'denials' END) d WHERE r.kind=2 AND r.denials>0;",
};

#define VERSION ((int)(sizeof(steps) / sizeof(steps[0])))

/* Others that come at the same time wait here. */
#define LOCK "SELECT pg_advisory_xact_lock(hashtext('aisbx schema'))"

static const char *single(const struct pg_rows *rows)
{
	const char *text = pg_text(rows, 0, 0);

	return text ? text : "";
}

/* -1 as version: there is none. */
static int look(struct pg *pg, int *ret_version, char ret_server[static PG_SERVER_SIZE],
		struct error *err)
{
	owned(pg_rows_release) struct pg_rows *found = NULL, *about = NULL;

	if (pg_query(pg, "SELECT count(*) FROM pg_namespace WHERE nspname='aisbx'", NULL, 0, &found,
		     err) < 0)
		return -1;
	*ret_version = -1;
	if (atoi(single(found)) == 0)
		return 0;
	if (pg_query(pg, "SELECT version,server FROM aisbx.about()", NULL, 0, &about, err) < 0)
		return -1;
	*ret_version = atoi(single(about));
	(void)snprintf(ret_server, PG_SERVER_SIZE, "%s",
		       pg_text(about, 0, 1) ? pg_text(about, 0, 1) : "");
	return 0;
}

static int refuse_newer(int version, struct error *err)
{
	return error_advise(err, ERROR_INPUT, "use that one",
			    "the database holds a record of a newer aisbx (format %d, this one "
			    "knows %d)",
			    version, VERSION);
}

static int take_steps(struct pg *pg, struct error *err)
{
	owned(pg_rows_release) struct pg_rows *locked = NULL;
	char server[PG_SERVER_SIZE], mark[64];
	int version;

	/* Another may have been faster. */
	if (pg_query(pg, LOCK, NULL, 0, &locked, err) < 0 || look(pg, &version, server, err) < 0)
		return -1;
	if (version > VERSION)
		return refuse_newer(version, err);
	for (int i = version < 0 ? 0 : version; i < VERSION; i++) {
		if (pg_execute(pg, steps[i], err) < 0)
			return -1;
	}
	(void)snprintf(mark, sizeof(mark), "UPDATE aisbx.meta SET version=%d", VERSION);
	return pg_execute(pg, mark, err);
}

static int migrate(struct pg *pg, struct error *err)
{
	struct error ignored;

	if (pg_execute(pg, "BEGIN", err) < 0)
		return -1;
	if (take_steps(pg, err) == 0)
		return pg_execute(pg, "COMMIT", err);
	(void)pg_execute(pg, "ROLLBACK", &ignored);
	return error_add_hint(err, "let the owner of the database sync once: docs/sync.md");
}

/* SQL_ASCII keeps bytes as they come; any other but UTF-8 would refuse some of them for ever. */
static int check_encoding(struct pg *pg, struct error *err)
{
	owned(pg_rows_release) struct pg_rows *rows = NULL;
	char shown[STR_SHOWN_SIZE];

	if (pg_query(pg, "SHOW server_encoding", NULL, 0, &rows, err) < 0)
		return -1;
	if (strcmp(single(rows), "UTF8") == 0 || strcmp(single(rows), "SQL_ASCII") == 0)
		return 0;
	return error_advise(err, ERROR_INPUT, "make one with ENCODING 'UTF8'",
			    "the database has the encoding %s", str_shown(single(rows), shown));
}

int pg_schema_open(struct pg *pg, bool may_change, char ret_server[static PG_SERVER_SIZE],
		   struct error *err)
{
	int version;

	if (look(pg, &version, ret_server, err) < 0)
		return -1;
	if (version > VERSION)
		return refuse_newer(version, err);
	if (version == VERSION)
		return 0;
	if (!may_change)
		return error_advise(err, ERROR_NOT_FOUND, "aisbx sync --to URL makes or updates it",
				    "the database holds no record of aisbx in format %d", VERSION);
	if (check_encoding(pg, err) < 0 || migrate(pg, err) < 0)
		return -1;
	return look(pg, &version, ret_server, err);
}
