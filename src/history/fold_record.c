/* SPDX-License-Identifier: Apache-2.0 */
/* One spool record into rows: what START, END and EVENT bodies hold, and where it goes. */
#include "history/fold_record.h"

#include "base/core/clock.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"

#include <stdio.h>
#include <string.h>

static const char start_sql[] =
	"INSERT OR IGNORE INTO "
	"runs(run_id,trace_id,sandbox,command,workspace,driver,started_ms,supervisor,owner)"
	" VALUES(?,?,?,?,?,?,?,?,?)";
static const char end_sql[] =
	"INSERT INTO "
	"runs(run_id,trace_id,sandbox,command,driver,started_ms,status,exit_code,signal,"
	"duration_ms,start_ms,cpu_ms,peak_memory,files,denials,net_denials,start,queued_ms,limits)"
	" VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	" ON CONFLICT(run_id) DO UPDATE SET status=excluded.status,exit_code=excluded.exit_code,"
	"signal=excluded.signal,duration_ms=excluded.duration_ms,start_ms=excluded.start_ms,"
	"cpu_ms=excluded.cpu_ms,peak_memory=excluded.peak_memory,files=excluded.files,"
	"denials=excluded.denials,net_denials=excluded.net_denials,start=excluded.start,"
	"queued_ms=excluded.queued_ms,limits=excluded.limits";
/* The first record of a kind has the place; an event's key is the row that was just added. */
static const char journal_sql[] =
	"INSERT OR IGNORE INTO journal(kind,key) VALUES(?,ifnull(?,last_insert_rowid()))";

int fold_statements_open(struct db *db, struct fold_statements *ret_statements, struct error *err)
{
	*ret_statements = (struct fold_statements){ 0 };
	if (db_prepare(db, start_sql, &ret_statements->start, err) < 0 ||
	    db_prepare(db, end_sql, &ret_statements->end, err) < 0 ||
	    db_prepare(db, "INSERT OR REPLACE INTO results(run_id,body) VALUES(?,?)",
		       &ret_statements->result, err) < 0 ||
	    db_prepare(db, "DELETE FROM denials WHERE run_id=?", &ret_statements->forget_denials,
		       err) < 0 ||
	    db_prepare(db,
		       "INSERT INTO denials(run_id,layer,what,rule,hint,count) VALUES(?,?,?,?,?,?)",
		       &ret_statements->denial, err) < 0 ||
	    db_prepare(db, "DELETE FROM samples WHERE run_id=?", &ret_statements->forget_samples,
		       err) < 0 ||
	    db_prepare(
		    db,
		    "INSERT INTO samples(run_id,at_ms,cpu_us,memory,pids,disk) VALUES(?,?,?,?,?,?)",
		    &ret_statements->sample, err) < 0 ||
	    db_prepare(db, "INSERT INTO events(at_ms,kind,sandbox,subject,body) VALUES(?,?,?,?,?)",
		       &ret_statements->event, err) < 0 ||
	    db_prepare(db, journal_sql, &ret_statements->journal, err) < 0) {
		fold_statements_close(ret_statements);
		return -1;
	}
	return 0;
}

void fold_statements_close(struct fold_statements *statements)
{
	db_statement_release(&statements->start);
	db_statement_release(&statements->end);
	db_statement_release(&statements->result);
	db_statement_release(&statements->forget_denials);
	db_statement_release(&statements->denial);
	db_statement_release(&statements->event);
	db_statement_release(&statements->forget_samples);
	db_statement_release(&statements->sample);
	db_statement_release(&statements->journal);
}

/* "2026-11-15T00:00:00.000Z" as milliseconds; 0 when it is none. */
static int64_t time_of(const char *text)
{
	uint64_t ms = 0;

	return text && time_parse_utc(text, &ms) ? (int64_t)ms : 0;
}

static void bind_number(struct db_statement *statement, int place, const struct value *item)
{
	if (item && item->kind == VALUE_INT)
		db_bind_int(statement, place, item->integer);
	else if (item && item->kind == VALUE_REAL)
		db_bind_real(statement, place, item->real);
	else
		db_bind_null(statement, place);
}

/* As JSON; none for an empty one. */
static void bind_list(struct db_statement *statement, int place, const struct value *list)
{
	owned(str_done) struct str text = STR_INIT;

	if (list && list->kind == VALUE_LIST && list->many.count > 0)
		json_write(&text, list, 0);
	db_bind_text(statement, place, text.len ? text.data : NULL);
}

/* What both kinds of run record begin with: run_id, trace_id, sandbox, command. */
static void bind_names(struct db_statement *statement, const struct value *body)
{
	owned(str_done) struct str command = STR_INIT;
	const struct value *words = value_get(body, "command");

	if (words && words->kind == VALUE_LIST)
		json_write(&command, words, 0);
	db_bind_text(statement, 1, value_get_text(body, "run_id"));
	db_bind_text(statement, 2, value_get_text(body, "trace_id"));
	db_bind_text(statement, 3, value_get_text(body, "sandbox"));
	db_bind_text(statement, 4, command.len ? command.data : "[]");
}

static int fold_start(struct fold_statements *statements, const struct value *body,
		      struct error *err)
{
	struct db_statement *start = statements->start;

	bind_names(start, body);
	db_bind_text(start, 5, value_get_text(body, "workspace"));
	db_bind_text(start, 6, value_get_text(body, "driver"));
	db_bind_int(start, 7, time_of(value_get_text(body, "started")));
	db_bind_int(start, 8, value_int_of(body, "supervisor"));
	db_bind_text(start, 9, value_get_text(body, "owner"));
	return db_run(start, err);
}

static int fold_denial(struct fold_statements *statements, const char *run_id,
		       const struct value *denial, struct error *err)
{
	int64_t count = value_int_of(denial, "count");

	db_bind_text(statements->denial, 1, run_id);
	db_bind_text(statements->denial, 2, value_get_text(denial, "layer"));
	db_bind_text(statements->denial, 3, value_get_text(denial, "what"));
	db_bind_text(statements->denial, 4, value_get_text(denial, "rule"));
	db_bind_text(statements->denial, 5, value_get_text(denial, "hint"));
	db_bind_int(statements->denial, 6, count ? count : 1);
	return db_run(statements->denial, err);
}

/* All of them, and those of the network. */
static int fold_denials(struct fold_statements *statements, const struct value *body,
			int64_t ret_counts[static 2], struct error *err)
{
	const struct value *list = value_get(body, "denials");
	const char *run_id = value_get_text(body, "run_id");

	ret_counts[0] = value_int_of(body, "denials_beyond");
	ret_counts[1] = 0;
	if (!list || list->kind != VALUE_LIST || list->many.count == 0)
		return 0;
	db_bind_text(statements->forget_denials, 1, run_id);
	if (db_run(statements->forget_denials, err) < 0)
		return -1;
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *denial = list->many.items[i];
		const char *layer = value_get_text(denial, "layer");

		ret_counts[0]++;
		ret_counts[1] += layer && strcmp(layer, "net") == 0;
		if (fold_denial(statements, run_id, denial, err) < 0)
			return -1;
	}
	return 0;
}

static int64_t files_changed(const struct value *body)
{
	const struct value *changes = value_get(body, "changes");

	if (!changes)
		return 0;
	return value_int_of(changes, "added") + value_int_of(changes, "modified") +
	       value_int_of(changes, "deleted");
}

static int64_t number_at(const struct value *row, size_t index)
{
	const struct value *item = index < row->many.count ? row->many.items[index] : NULL;

	return item && item->kind == VALUE_INT ? item->integer : 0;
}

/* Rows of milliseconds, processor milliseconds, memory, processes, disk. */
static int fold_samples(struct fold_statements *statements, const struct value *body,
			struct error *err)
{
	const struct value *list = value_get(body, "samples");

	if (!list || list->kind != VALUE_LIST || list->many.count == 0)
		return 0;
	db_bind_text(statements->forget_samples, 1, value_get_text(body, "run_id"));
	if (db_run(statements->forget_samples, err) < 0)
		return -1;
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *row = list->many.items[i];

		if (row->kind != VALUE_LIST)
			continue;
		db_bind_text(statements->sample, 1, value_get_text(body, "run_id"));
		db_bind_int(statements->sample, 2, number_at(row, 0));
		db_bind_int(statements->sample, 3, number_at(row, 1) * 1000);
		for (size_t column = 2; column < 5; column++)
			db_bind_int(statements->sample, (int)column + 2, number_at(row, column));
		if (db_run(statements->sample, err) < 0)
			return -1;
	}
	return 0;
}

static int fold_end(struct fold_statements *statements, const struct value *body, const char *text,
		    struct error *err)
{
	struct db_statement *end = statements->end;
	int64_t denials[2];

	if (fold_denials(statements, body, denials, err) < 0 ||
	    fold_samples(statements, body, err) < 0)
		return -1;
	bind_names(end, body);
	db_bind_text(end, 5, value_get_text(body, "driver"));
	db_bind_int(end, 6, time_of(value_get_text(body, "started")));
	db_bind_text(end, 7, value_get_text(body, "status"));
	bind_number(end, 8, value_get(body, "exit_code"));
	bind_number(end, 9, value_get(body, "signal"));
	bind_number(end, 10, value_get(body, "duration_ms"));
	bind_number(end, 11, value_get(body, "start_ms"));
	bind_number(end, 12, value_get(body, "cpu_ms"));
	bind_number(end, 13, value_get(body, "peak_memory_bytes"));
	db_bind_int(end, 14, files_changed(body));
	db_bind_int(end, 15, denials[0]);
	db_bind_int(end, 16, denials[1]);
	db_bind_text(end, 17, value_get_text(body, "start"));
	bind_number(end, 18, value_get(body, "queued_ms"));
	bind_list(end, 19, value_get(body, "limits_hit"));
	if (db_run(end, err) < 0)
		return -1;
	db_bind_text(statements->result, 1, value_get_text(body, "run_id"));
	db_bind_text(statements->result, 2, text);
	return db_run(statements->result, err);
}

static int fold_event(struct fold_statements *statements, const struct value *body,
		      const char *text, struct error *err)
{
	db_bind_int(statements->event, 1, time_of(value_get_text(body, "time")));
	db_bind_text(statements->event, 2, value_get_text(body, "event"));
	db_bind_text(statements->event, 3, value_get_text(body, "sandbox"));
	db_bind_text(statements->event, 4, value_get_text(body, "id"));
	db_bind_text(statements->event, 5, text);
	return db_run(statements->event, err);
}

static int fold_body(struct fold_statements *statements, enum spool_type type,
		     const struct value *body, const char *text, struct error *err)
{
	switch (type) {
	case SPOOL_START:
		return fold_start(statements, body, err);
	case SPOOL_END:
		return fold_end(statements, body, text, err);
	case SPOOL_EVENT:
		return fold_event(statements, body, text, err);
	}
	return 0;
}

int fold_record(struct fold_statements *statements, const struct spool_record *record,
		struct error *err)
{
	owned(value_release) struct value *body = NULL;
	owned(free_ptr) char *text = xstrndup(record->body, record->len);
	const char *key = record->type == SPOOL_EVENT ? "event" : "run_id";
	struct error ignored;

	if (json_read(record->body, record->len, NULL, &body, &ignored) < 0 ||
	    body->kind != VALUE_MAP || !value_get_text(body, key))
		return 0;
	if (fold_body(statements, record->type, body, text, err) < 0)
		return -1;
	db_bind_int(statements->journal, 1, record->type);
	db_bind_text(statements->journal, 2,
		     record->type == SPOOL_EVENT ? NULL : value_get_text(body, key));
	return db_run(statements->journal, err);
}
