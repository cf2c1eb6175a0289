/* SPDX-License-Identifier: Apache-2.0 */
/* One run as a JSON object that another history can take in: for archives. The database's own functions write and read it. */
#include "history/trim.h"

#include "base/core/own.h"
#include "base/text/json_read.h"
#include "history/parts.h"

#include <string.h>

/* Columns of runs, which are called the same in the object. */
static const char *const columns[] = {
	"run_id", "trace_id",	 "sandbox",   "command",    "workspace",   "driver",
	"status", "exit_code",	 "signal",    "started_ms", "duration_ms", "start_ms",
	"cpu_ms", "peak_memory", "files",     "denials",    "net_denials", "supervisor",
	"owner",  "start",	 "queued_ms", "limits",
};

/* Each of them between FIRST and LAST, commas between; with a SECOND, once more in front of that. */
static void add_columns(struct str *sql, const char *first, const char *second, const char *last)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		str_addf(sql, "%s%s%s%s%s%s", i ? "," : "", first, *second ? columns[i] : "",
			 second, columns[i], last);
}

static int check(const char *run_id, const char *text, size_t len, struct error *err)
{
	owned(value_release) struct value *run = NULL;
	owned(value_release) struct value *result = NULL;
	const char *id, *body;
	int64_t started;

	if (json_read(text, len, NULL, &run, err) < 0)
		return -1;
	id = value_get_text(run, "run_id");
	body = value_get_text(run, "result");
	if (!id || strcmp(id, run_id) != 0 || !value_get_text(run, "status") ||
	    !value_get_text(run, "command") || !value_get_int(run, "started_ms", &started))
		return error_set(err, ERROR_INPUT, "this is no record of that run");
	if (!body)
		return 0;
	if (json_read(body, strlen(body), &(struct json_limits){ .nul = true }, &result, err) < 0)
		return -1;
	return result->kind == VALUE_MAP
		       ? 0
		       : error_set(err, ERROR_INPUT, "its result is not one of a run");
}

int history_run_pack(struct history *history, const char *run_id, struct str *ret_text,
		     bool *ret_is_there, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	owned(str_done) struct str sql = STR_INIT;
	int got;

	str_add(&sql, "SELECT json_object(");
	add_columns(&sql, "'", "',r.", "");
	str_add(&sql, ",'result',(SELECT body FROM results WHERE run_id=r.run_id),'refused',"
		      "(SELECT json_group_array(json_array(layer,what,rule,hint,count)) FROM"
		      " (SELECT * FROM denials WHERE run_id=r.run_id ORDER BY rowid)),'samples',"
		      "(SELECT json_group_array(json_array(at_ms,cpu_us,memory,pids,disk)) FROM"
		      " (SELECT * FROM samples WHERE run_id=r.run_id ORDER BY at_ms)))"
		      " FROM runs r WHERE r.run_id=? AND r.status IS NOT NULL");
	if (db_prepare(history->db, sql.data, &row, err) < 0)
		return -1;
	db_bind_text(row, 1, run_id);
	got = db_step(row, err);
	if (got < 0)
		return -1;
	*ret_is_there = got > 0;
	if (got > 0)
		str_add(ret_text, db_text(row, 0));
	return got > 0 ? check(run_id, ret_text->data, ret_text->len, err) : 0;
}

static int execute(struct history *history, const char *sql, const char *text, const char *run_id,
		   struct error *err)
{
	owned(db_statement_release) struct db_statement *statement = NULL;

	if (db_prepare(history->db, sql, &statement, err) < 0)
		return -1;
	db_bind_text(statement, 1, text);
	db_bind_text(statement, 2, run_id);
	return db_run(statement, err);
}

int history_run_unpack(struct history *history, const char *run_id, const char *text, size_t len,
		       struct error *err)
{
	static const char *const others[] = {
		"INSERT OR IGNORE INTO results SELECT ?2,json_extract(?1,'$.result')"
		" WHERE json_extract(?1,'$.result') IS NOT NULL",
		"INSERT INTO denials SELECT ?2,json_extract(value,'$[0]'),"
		"json_extract(value,'$[1]'),json_extract(value,'$[2]'),"
		"json_extract(value,'$[3]'),json_extract(value,'$[4]') FROM "
		"json_each(?1,'$.refused')",
		"INSERT INTO samples SELECT ?2,json_extract(value,'$[0]'),"
		"json_extract(value,'$[1]'),json_extract(value,'$[2]'),"
		"json_extract(value,'$[3]'),json_extract(value,'$[4]') FROM "
		"json_each(?1,'$.samples')",
	};
	owned(str_done) struct str sql = STR_INIT;

	if (check(run_id, text, len, err) < 0)
		return error_context(err, "run %s", run_id);
	str_add(&sql, "INSERT OR IGNORE INTO runs(");
	add_columns(&sql, "", "", "");
	str_add(&sql, ") SELECT ");
	add_columns(&sql, "json_extract(?1,'$.", "", "')");
	str_add(&sql, " WHERE ?2 IS NOT NULL");
	if (execute(history, sql.data, text, run_id, err) < 0)
		return -1;
	if (db_changes(history->db) == 0)
		return 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (execute(history, others[i], text, run_id, err) < 0)
			return error_context(err, "run %s", run_id);
	return 1;
}
