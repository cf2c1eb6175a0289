/* SPDX-License-Identifier: Apache-2.0 */
/* A shared record asked: the same answers as from the one of this machine. */
#include "history/fleet.h"

#include "base/core/own.h"
#include "history/parts.h"
#include "history/pg_schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An answer has at most 64 MiB: more runs than this may not fit. */
#define RUNS_MAX 100000

enum form { FORM_TEXT, FORM_WORDS, FORM_INT, FORM_REAL, FORM_TIME };

struct column {
	const char *key;
	const char *sql;
	enum form form;
};

static const struct column run_columns[] = {
	{ "run_id", "run_id", FORM_TEXT },	 { "trace_id", "trace_id", FORM_TEXT },
	{ "sandbox", "sandbox", FORM_TEXT },	 { "command", "command", FORM_WORDS },
	{ "workspace", "workspace", FORM_TEXT }, { "driver", "driver", FORM_TEXT },
	{ "status", "status", FORM_TEXT },	 { "exit_code", "exit_code", FORM_INT },
	{ "started", "started_ms", FORM_TIME },	 { "duration_ms", "duration_ms", FORM_REAL },
	{ "cpu_ms", "cpu_ms", FORM_REAL },	 { "peak_memory_bytes", "peak_memory", FORM_INT },
	{ "files_changed", "files", FORM_INT },	 { "denials", "denials", FORM_INT },
	{ "owner", "owner", FORM_TEXT },	 { "host", "host", FORM_TEXT },
	{ "edge", "edge", FORM_TEXT },
};

static const struct column stats_columns[] = {
	{ "runs", "count(*)", FORM_INT },
	{ "runs_per_hour", "count(*)/greatest(1,(max(started_ms)-min(started_ms))/3600e3)::float8",
	  FORM_REAL },
	{ "denials_per_1000_runs", "sum(denials)*1000.0/nullif(count(*),0)", FORM_REAL },
	{ "start_p50_ms",
	  "percentile_disc(0.5) WITHIN GROUP (ORDER BY start_ms) FILTER (WHERE start_ms>0)",
	  FORM_REAL },
	{ "start_p95_ms",
	  "percentile_disc(0.95) WITHIN GROUP (ORDER BY start_ms) FILTER (WHERE start_ms>0)",
	  FORM_REAL },
#define RATE(key, status)                                         \
	{                                                         \
		key, "avg((status='" status "')::int)", FORM_REAL \
	}
	RATE("success_rate", "success"),
	RATE("oom_rate", "oom"),
	RATE("kill_rate", "killed"),
	RATE("timeout_rate", "timeout"),
#undef RATE
#define EVENTS(key, event)                                                                        \
	{                                                                                         \
		key, "(SELECT count(*) FROM aisbx.events WHERE at_ms>=$1 AND event='" event "')", \
			FORM_INT                                                                  \
	}
	EVENTS("promotions", "promote"),
	EVENTS("promotions_undone", "undo"),
	EVENTS("guard_decisions", "guard"),
#undef EVENTS
	{ "edges", "count(DISTINCT edge)", FORM_INT },
};

static const struct column trace_columns[] = {
	{ "trace_id", "trace_id", FORM_TEXT },
	{ "runs", "count(*)", FORM_INT },
	{ "success_rate", "avg((status='success')::int)", FORM_REAL },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* What the server calls a number need not be one. */
static struct value *cell(enum form form, const char *text)
{
	if (form == FORM_WORDS)
		return history_words(text);
	if (form == FORM_TIME)
		return history_time(text ? strtoll(text, NULL, 10) : 0);
	if (!text)
		return value_new_null();
	if (form == FORM_INT)
		return value_new_int(strtoll(text, NULL, 10));
	return form == FORM_REAL ? value_new_real(strtod(text, NULL)) : value_new_text(text);
}

static void add_select(struct str *sql, const struct column *columns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		str_addf(sql, "%s%s", i ? "," : "SELECT ", columns[i].sql);
	str_add(sql, " FROM aisbx.runs WHERE started_ms>=$1");
}

static void add_row(struct value *map, const struct column *columns, size_t count,
		    const struct pg_rows *rows, size_t row)
{
	for (size_t i = 0; i < count; i++)
		value_add(map, columns[i].key, cell(columns[i].form, pg_text(rows, row, (int)i)));
}

static struct value *row_list(const struct column *columns, size_t count,
			      const struct pg_rows *rows)
{
	struct value *list = value_new_list();

	for (size_t row = 0; row < pg_rows_count(rows); row++)
		add_row(value_append(list, value_new_map()), columns, count, rows, row);
	return list;
}

int fleet_list(struct pg *pg, const struct history_filter *filter, struct value **ret_list,
	       struct error *err)
{
	owned(pg_rows_release) struct pg_rows *rows = NULL;
	owned(str_done) struct str sql = STR_INIT;
	char since[24], server[PG_SERVER_SIZE];
	const char *const params[] = { since,		filter->status,
				       filter->sandbox, filter->trace_id,
				       filter->text,	filter->before };
	uint64_t limit = filter->limit && filter->limit < RUNS_MAX ? filter->limit : RUNS_MAX;

	(void)snprintf(since, sizeof(since), "%" PRIu64, filter->since_ms);
	add_select(&sql, run_columns, COUNT(run_columns));
	str_addf(&sql,
		 " AND ($2::text IS NULL OR status=$2) AND ($3::text IS NULL OR sandbox=$3)"
		 " AND ($4::text IS NULL OR trace_id=$4)"
		 " AND ($5::text IS NULL OR strpos(lower(command),lower($5))>0)"
		 " AND ($6::text IS NULL OR run_id<$6) ORDER BY run_id DESC LIMIT %" PRIu64,
		 limit);
	if (pg_schema_open(pg, false, server, err) < 0 ||
	    pg_query(pg, sql.data, params, COUNT(params), &rows, err) < 0)
		return -1;
	*ret_list = row_list(run_columns, COUNT(run_columns), rows);
	return 0;
}

int fleet_stats(struct pg *pg, uint64_t since_ms, struct value **ret_stats, struct error *err)
{
	owned(pg_rows_release) struct pg_rows *figures = NULL, *traces = NULL;
	owned(str_done) struct str sql = STR_INIT;
	char since[24], server[PG_SERVER_SIZE];
	const char *const params[] = { since };

	(void)snprintf(since, sizeof(since), "%" PRIu64, since_ms);
	add_select(&sql, stats_columns, COUNT(stats_columns));
	if (pg_schema_open(pg, false, server, err) < 0 ||
	    pg_query(pg, sql.data, params, 1, &figures, err) < 0)
		return -1;
	str_clear(&sql);
	add_select(&sql, trace_columns, COUNT(trace_columns));
	str_add(&sql, " AND trace_id IS NOT NULL GROUP BY trace_id ORDER BY 2 DESC LIMIT 20");
	if (pg_query(pg, sql.data, params, 1, &traces, err) < 0)
		return -1;
	*ret_stats = value_new_map();
	add_row(*ret_stats, stats_columns, COUNT(stats_columns), figures, 0);
	value_add(*ret_stats, "traces", row_list(trace_columns, COUNT(trace_columns), traces));
	return 0;
}
