/* SPDX-License-Identifier: Apache-2.0 */
/* The record sent to a shared one: batches of the journal. */
#include "history/sync.h"

#include "base/core/own.h"
#include "history/parts.h"
#include "history/pg_schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define BATCH_BYTES ((size_t)4 << 20)
#define TOKEN_SIZE 33

/*
 * In the order of COPY below. A run that has ended needs no record of its start. The key of an event holds its local id and
 * its time: a copy of the directory sends the same one for the same event.
 */
static const char batch_sql[] =
	"SELECT seq,j.kind,CASE WHEN j.kind<3 THEN j.key ELSE"
	" e.id||':'||e.at_ms||':'||e.kind||':'||ifnull(e.subject,'')||':'||ifnull(e.sandbox,'') "
	"END,"
	"ifnull(r.started_ms,e.at_ms),r.duration_ms,r.trace_id,ifnull(r.sandbox,e.sandbox),"
	"r.command,r.workspace,r.driver,r.owner,r.status,r.exit_code,r.start_ms,r.cpu_ms,"
	"r.peak_memory,r.files,r.denials,r.net_denials,e.kind,e.subject,ifnull(e.body,b.body)"
	" FROM journal j LEFT JOIN runs r ON j.kind<3 AND r.run_id=j.key"
	" LEFT JOIN results b ON j.kind=2 AND b.run_id=j.key"
	" LEFT JOIN events e ON j.kind=3 AND e.id=CAST(j.key AS INTEGER)"
	" WHERE seq>?1 AND (e.id IS NOT NULL OR (r.run_id IS NOT NULL AND"
	" (j.kind=2 OR r.status IS NULL))) ORDER BY seq LIMIT 10000";

#define BATCH_COLUMNS 22

static const char copy_sql[] =
	"COPY aisbx.inbox(edge,seq,kind,key,started_ms,duration_ms,trace_id,sandbox,command,"
	"workspace,driver,owner,status,exit_code,start_ms,cpu_ms,peak_memory,files,denials,"
	"net_denials,event,subject,body) FROM STDIN";

struct edge {
	char id[37], token[TOKEN_SIZE], next[TOKEN_SIZE];
	const char *server;
	int64_t acked;
};

static int random_hex(char *ret_text, size_t bytes, struct error *err)
{
	unsigned char random[16];

	if (getrandom(random, bytes, 0) != (ssize_t)bytes)
		return error_errno(err, ERROR_HOST, "getrandom");
	for (size_t i = 0; i < bytes; i++)
		(void)snprintf(ret_text + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int make_uuid(char ret_text[static 37], struct error *err)
{
	char hex[33];

	if (random_hex(hex, 16, err) < 0)
		return -1;
	(void)snprintf(ret_text, 37, "%.8s-%.4s-4%.3s-8%.3s-%.12s", hex, hex + 8, hex + 13,
		       hex + 17, hex + 20);
	return 0;
}

/* Kept before it is sent to the server, so that no crash loses what it may have taken over. */
static int keep_edge(struct db *db, const struct edge *edge, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;

	if (db_prepare(db, "INSERT OR REPLACE INTO edges VALUES(?,?,?,?,?)", &row, err) < 0)
		return -1;
	db_bind_text(row, 1, edge->server);
	db_bind_text(row, 2, edge->id);
	db_bind_text(row, 3, edge->token);
	db_bind_text(row, 4, edge->next);
	db_bind_int(row, 5, edge->acked);
	return db_run(row, err);
}

static int read_edge(struct db *db, bool as_new, struct edge *edge, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	if (db_prepare(db, "SELECT edge,token,next,acked FROM edges WHERE server=?", &row, err) < 0)
		return -1;
	db_bind_text(row, 1, edge->server);
	got = db_step(row, err);
	if (got < 0)
		return -1;
	if (got > 0 && !as_new) {
		(void)snprintf(edge->id, sizeof(edge->id), "%s", db_text(row, 0));
		(void)snprintf(edge->token, sizeof(edge->token), "%s", db_text(row, 1));
		(void)snprintf(edge->next, sizeof(edge->next), "%s", db_text(row, 2));
		edge->acked = db_int(row, 3);
	} else if (make_uuid(edge->id, err) < 0) {
		return -1;
	}
	/* One that is kept was sent, perhaps: the server may have either. */
	return edge->next[0] || random_hex(edge->next, 16, err) == 0 ? 0 : -1;
}

static int explain(const struct pg *pg, struct error *err)
{
	if (strcmp(pg_state(pg), "AX001") == 0)
		return error_advise(err, ERROR_CONFLICT,
				    "on the copy, run `aisbx sync --new-edge --to URL` once",
				    "another copy of this state directory was synced, or the "
				    "server was set back");
	if (strcmp(pg_state(pg), "AX002") == 0)
		return error_advise(err, ERROR_DENIED, "connect as the role that synced first",
				    "this edge belongs to another role of the database");
	return -1;
}

static int greet(struct history *history, struct pg *pg, struct edge *edge, struct error *err)
{
	owned(pg_rows_release) struct pg_rows *rows = NULL;
	char host[256] = "";
	const char *const params[] = { edge->id, edge->token, edge->next, host };

	(void)gethostname(host, sizeof(host) - 1);
	if (keep_edge(history->db, edge, err) < 0)
		return -1;
	if (pg_query(pg, "SELECT aisbx.hello($1,$2,$3,$4)", params, 4, &rows, err) < 0)
		return explain(pg, err);
	edge->acked = pg_text(rows, 0, 0) ? strtoll(pg_text(rows, 0, 0), NULL, 10) : 0;
	memcpy(edge->token, edge->next, sizeof(edge->token));
	edge->next[0] = '\0';
	return keep_edge(history->db, edge, err);
}

/* COPY's text of what lies behind *LAST, which is moved. */
static int read_batch(struct db_statement *row, const char *edge, int64_t *last, struct str *data,
		      struct sync_done *done, struct error *err)
{
	int got = 1;

	db_bind_int(row, 1, *last);
	while (data->len < BATCH_BYTES && (got = db_step(row, err)) > 0) {
		str_add(data, edge);
		for (int i = 0; i < BATCH_COLUMNS; i++) {
			str_add_char(data, '\t');
			pg_add_value(data, db_text(row, i));
		}
		str_add_char(data, '\n');
		*last = db_int(row, 0);
		done->sent++;
	}
	if (got > 0)
		db_reset(row);
	return got < 0 ? -1 : 0;
}

static int send_batch(struct pg *pg, const struct edge *edge, int64_t last, const struct str *data,
		      struct sync_done *done, struct error *err)
{
	owned(pg_rows_release) struct pg_rows *rows = NULL;
	char place[24];
	const char *const params[] = { edge->id, edge->token, place };

	(void)snprintf(place, sizeof(place), "%" PRId64, last);
	if (pg_execute(pg, "BEGIN", err) < 0 || pg_copy(pg, copy_sql, data, err) < 0)
		return -1;
	if (pg_query(pg, "SELECT aisbx.merge($1,$2,$3)", params, 3, &rows, err) < 0)
		return explain(pg, err);
	if (pg_execute(pg, "COMMIT", err) < 0)
		return -1;
	done->added += pg_text(rows, 0, 0) ? strtoull(pg_text(rows, 0, 0), NULL, 10) : 0;
	return 0;
}

static int send_all(struct history *history, struct pg *pg, struct edge *edge,
		    struct sync_done *done, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	owned(str_done) struct str data = STR_INIT;

	if (db_prepare(history->db, batch_sql, &row, err) < 0)
		return -1;
	for (;;) {
		str_clear(&data);
		if (read_batch(row, edge->id, &edge->acked, &data, done, err) < 0)
			return -1;
		if (data.len == 0)
			return 0;
		if (send_batch(pg, edge, edge->acked, &data, done, err) < 0 ||
		    keep_edge(history->db, edge, err) < 0)
			return -1;
	}
}

int history_sync(struct history *history, struct pg *pg, bool as_new, struct sync_done *ret_done,
		 struct error *err)
{
	owned(fd_close) int lock_fd = -1;
	struct edge edge = { .server = ret_done->server };

	*ret_done = (struct sync_done){ 0 };
	/* Two at once would take each other for a copy of the state directory. */
	if (history_lock(history, "sync.lock", "another sync of this record is under way", &lock_fd,
			 err) < 0 ||
	    pg_schema_open(pg, true, ret_done->server, err) < 0 ||
	    read_edge(history->db, as_new, &edge, err) < 0 || greet(history, pg, &edge, err) < 0 ||
	    send_all(history, pg, &edge, ret_done, err) < 0)
		return -1;
	ret_done->acked = edge.acked;
	memcpy(ret_done->edge, edge.id, sizeof(ret_done->edge));
	return 0;
}
