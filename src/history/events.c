/* SPDX-License-Identifier: Apache-2.0 */
/* What happened, in the order of the record: the journal read on from a place. */
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "history/history.h"
#include "history/parts.h"
#include "history/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char events_sql[] =
	"SELECT seq,journal.kind,key,trace_id,runs.sandbox,command,driver,status,exit_code,"
	"started_ms,duration_ms,limits,start,at_ms,events.kind,events.sandbox,subject,body"
	" FROM journal LEFT JOIN runs ON journal.kind<3 AND run_id=key"
	" LEFT JOIN events ON journal.kind=3 AND events.id=CAST(key AS INTEGER)"
	" WHERE seq>=?1 ORDER BY seq LIMIT ?2";

enum column {
	AT_SEQ,
	AT_KIND,
	AT_RUN,
	AT_TRACE,
	AT_SANDBOX,
	AT_COMMAND,
	AT_DRIVER,
	AT_STATUS,
	AT_EXIT,
	AT_STARTED,
	AT_DURATION,
	AT_LIMITS,
	AT_START,
	AT_TIME,
	AT_EVENT,
	AT_EVENT_SANDBOX,
	AT_SUBJECT,
	AT_BODY,
};

/* Read at a time: a record has up to a quarter of a megabyte. */
#define RECORDS 64

/* Events that have another name than the record gives them. */
static const char *const names[][2] = {
	{ "create", "created" },
	{ "promote", "promoted" },
	{ "ask", "approval-asked" },
	{ "remove", "removed" },
};

bool history_place_read(const char *text, struct history_place *ret_place)
{
	char *end;

	*ret_place = (struct history_place){ .part = HISTORY_PARTS_ALL };
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	ret_place->record = strtoll(text, &end, 10);
	if (*end == '.' && end[1] >= '0' && end[1] <= '9')
		ret_place->part = strtoll(end + 1, &end, 10);
	return *end == '\0' && errno == 0;
}

int history_place_last(struct history *history, struct history_place *ret_place, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;

	if (db_prepare(history->db, "SELECT ifnull(max(seq),0) FROM journal", &row, err) < 0 ||
	    db_step(row, err) < 0)
		return -1;
	*ret_place = (struct history_place){ db_int(row, 0), HISTORY_PARTS_ALL };
	return 0;
}

static int keep_sent(struct history *history, const char *sql, const char *collector,
		     int64_t record, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;

	if (db_prepare(history->db, sql, &row, err) < 0)
		return -1;
	db_bind_text(row, 1, collector);
	db_bind_int(row, 2, record);
	return db_run(row, err);
}

int history_sent_from(struct history *history, const char *collector, struct history_place *place,
		      struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;

	if (keep_sent(history, "INSERT OR IGNORE INTO sent VALUES(?,?)", collector, place->record,
		      err) < 0 ||
	    db_prepare(history->db, "SELECT seq FROM sent WHERE collector=?", &row, err) < 0)
		return -1;
	db_bind_text(row, 1, collector);
	if (db_step(row, err) < 0)
		return -1;
	*place = (struct history_place){ db_int(row, 0), HISTORY_PARTS_ALL };
	return 0;
}

int history_sent_to(struct history *history, const char *collector,
		    const struct history_place *place, struct error *err)
{
	return keep_sent(history, "INSERT OR REPLACE INTO sent VALUES(?,?)", collector,
			 place->record, err);
}

int history_running(struct history *history, int64_t *ret_count, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;

	if (db_prepare(history->db, "SELECT count(*) FROM runs WHERE status IS NULL", &row, err) <
		    0 ||
	    db_step(row, err) < 0)
		return -1;
	*ret_count = db_int(row, 0);
	return 0;
}

/* One record's events, those up to PAST left out. */
struct events {
	struct db_statement *row;
	struct value *list;
	int64_t part, past;
};

/* The next one, with what all have; NULL when it is past. */
static struct value *add(struct events *events, const char *name, bool is_last, int64_t at_ms)
{
	int64_t record = db_int(events->row, AT_SEQ);
	owned(free_ptr) char *id = NULL;
	struct value *event;

	if ((is_last ? HISTORY_PARTS_ALL : ++events->part) <= events->past)
		return NULL;
	id = is_last ? xasprintf("%" PRId64, record)
		     : xasprintf("%" PRId64 ".%" PRId64, record, events->part);
	event = value_append(events->list, value_new_map());
	value_add(event, "id", value_new_text(id));
	value_add(event, "time", history_time(at_ms));
	value_add(event, "event", value_new_text(name));
	if (db_int(events->row, AT_KIND) != SPOOL_EVENT) {
		value_add(event, "run_id", value_new_text(db_text(events->row, AT_RUN)));
		value_add(event, "trace_id", value_new_text(db_text(events->row, AT_TRACE)));
		value_add(event, "sandbox", value_new_text(db_text(events->row, AT_SANDBOX)));
	}
	return event;
}

static void add_start(struct events *events)
{
	struct value *event = add(events, "started", true, db_int(events->row, AT_STARTED));

	if (!event)
		return;
	value_add(event, "driver", value_new_text(db_text(events->row, AT_DRIVER)));
	value_add(event, "command", history_words(db_text(events->row, AT_COMMAND)));
}

static int add_denials(struct events *events, struct db_statement *denial, int64_t at_ms,
		       struct error *err)
{
	static const char *const keys[] = { "layer", "what", "rule", "hint" };
	int got;

	db_bind_text(denial, 1, db_text(events->row, AT_RUN));
	while ((got = db_step(denial, err)) > 0) {
		struct value *event = add(events, "denied", false, at_ms);

		for (int i = 0; event && i < 4; i++)
			value_add(event, keys[i], value_new_text(db_text(denial, i)));
		if (event)
			value_add(event, "count", value_new_int(db_int(denial, 4)));
	}
	return got;
}

static int add_end(struct events *events, struct db_statement *denial, struct error *err)
{
	struct db_statement *row = events->row;
	owned(value_release) struct value *limits = history_words(db_text(row, AT_LIMITS));
	int64_t at_ms = db_int(row, AT_STARTED) + db_int(row, AT_DURATION);
	const char *status = db_text(row, AT_STATUS);
	struct value *event;

	if (add_denials(events, denial, at_ms, err) < 0)
		return -1;
	for (size_t i = 0; limits->kind == VALUE_LIST && i < limits->many.count; i++) {
		event = add(events, "limit", false, at_ms);
		if (event && limits->many.items[i]->kind == VALUE_TEXT)
			value_add(event, "limit",
				  value_new_text(limits->many.items[i]->text.bytes));
	}
	event = add(events, "ended", true, at_ms);
	if (!event)
		return 0;
	value_add(event, "status", value_new_text(status ? status : "killed"));
	value_add(event, "exit_code", history_number(row, AT_EXIT, false));
	value_add(event, "duration_ms", history_number(row, AT_DURATION, true));
	value_add(event, "start", value_new_text(db_text(row, AT_START)));
	return 0;
}

/* The body of an event as it was recorded: {event, time, sandbox, id, body}. */
static void add_body(struct value *event, const char *text)
{
	owned(value_release) struct value *recorded = NULL;
	struct value *body;
	struct error ignored;

	if (text && json_read(text, strlen(text), NULL, &recorded, &ignored) == 0 &&
	    (body = value_take(recorded, "body")))
		value_add(event, "body", body);
}

static void add_event(struct events *events)
{
	struct db_statement *row = events->row;
	const char *name = db_text(row, AT_EVENT);
	struct value *event;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i][0]) == 0)
			name = names[i][1];
	}
	event = add(events, name, true, db_int(row, AT_TIME));
	if (!event)
		return;
	value_add(event, "sandbox", value_new_text(db_text(row, AT_EVENT_SANDBOX)));
	value_add(event, "subject", value_new_text(db_text(row, AT_SUBJECT)));
	add_body(event, db_text(row, AT_BODY));
}

int history_secret_uses(struct history *history, const char *name, int64_t limit,
			struct value **ret_list, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	owned(value_release) struct value *list = value_new_list();
	int got;

	if (db_prepare(history->db,
		       "SELECT at_ms,sandbox,body FROM events WHERE kind='secret-used' AND"
		       " subject=?1 ORDER BY at_ms DESC,id DESC LIMIT ?2",
		       &row, err) < 0)
		return -1;
	db_bind_text(row, 1, name);
	db_bind_int(row, 2, limit ? limit : -1);
	while ((got = db_step(row, err)) > 0) {
		struct value *use = value_append(list, value_new_map());
		owned(value_release) struct value *recorded = value_new_map();

		add_body(recorded, db_text(row, 2));
		value_add(use, "time", history_time(db_int(row, 0)));
		value_add(use, "run_id",
			  value_new_text(value_get_text(value_get(recorded, "body"), "run_id")));
		value_add(use, "sandbox", value_new_text(db_text(row, 1)));
		value_add(use, "as",
			  value_new_text(value_get_text(value_get(recorded, "body"), "as")));
	}
	if (got < 0)
		return -1;
	*ret_list = ptr_take(&list);
	return 0;
}

int history_races(struct history *history, int64_t limit, struct value **ret_list,
		  struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	owned(value_release) struct value *list = value_new_list();
	int got;

	if (db_prepare(history->db,
		       "SELECT at_ms,body FROM events WHERE kind='race' ORDER BY at_ms DESC,id DESC"
		       " LIMIT ?1",
		       &row, err) < 0)
		return -1;
	db_bind_int(row, 1, limit);
	while ((got = db_step(row, err)) > 0) {
		owned(value_release) struct value *recorded = value_new_map();

		add_body(recorded, db_text(row, 1));
		struct value *race = value_take(recorded, "body");

		/* One that is damaged is none. */
		if (!race || race->kind != VALUE_MAP || !value_get_text(race, "race_id")) {
			value_release(&race);
			continue;
		}
		value_set(race, "time", history_time(db_int(row, 0)));
		value_append(list, race);
	}
	if (got < 0)
		return -1;
	*ret_list = ptr_take(&list);
	return 0;
}

static int add_record(struct events *events, struct db_statement *denial, struct error *err)
{
	struct db_statement *row = events->row;

	switch ((enum spool_type)db_int(row, AT_KIND)) {
	case SPOOL_START:
		if (!db_is_null(row, AT_STARTED))
			add_start(events);
		return 0;
	case SPOOL_END:
		return db_is_null(row, AT_STARTED) ? 0 : add_end(events, denial, err);
	case SPOOL_EVENT:
		if (!db_is_null(row, AT_EVENT))
			add_event(events);
		return 0;
	}
	return 0;
}

int history_events(struct history *history, struct history_place *place, struct value **ret_list,
		   bool *ret_more, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL, *denial = NULL;
	owned(value_release) struct value *list = value_new_list();
	int got;

	if (db_prepare(history->db, events_sql, &row, err) < 0 ||
	    db_prepare(
		    history->db,
		    "SELECT layer,what,rule,hint,count FROM denials WHERE run_id=? ORDER BY rowid",
		    &denial, err) < 0)
		return -1;
	db_bind_int(row, 1, place->record + (place->part == HISTORY_PARTS_ALL));
	db_bind_int(row, 2, RECORDS);
	*ret_more = false;
	while ((got = db_step(row, err)) > 0) {
		int64_t record = db_int(row, AT_SEQ);
		struct events events = { row, list, 0, record == place->record ? place->part : 0 };

		if (add_record(&events, denial, err) < 0)
			return -1;
		*place = (struct history_place){ record, HISTORY_PARTS_ALL };
		*ret_more = true;
	}
	if (got < 0)
		return -1;
	*ret_list = ptr_take(&list);
	return 0;
}
