/* SPDX-License-Identifier: Apache-2.0 */
/* Figures over the history: what an owner watches, and what gates ask for. */
#include "base/core/own.h"
#include "history/history.h"
#include "history/parts.h"

#include <stdio.h>
#include <string.h>

/* The newest that quantiles are taken over: sorting a million is no answer in a moment. */
#define SAMPLE_RUNS 20000

static int ask_number(struct history *history, const char *sql, uint64_t since_ms,
		      double *ret_number, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	if (db_prepare(history->db, sql, &row, err) < 0)
		return -1;
	db_bind_int(row, 1, (int64_t)since_ms);
	got = db_step(row, err);
	if (got < 0)
		return -1;
	*ret_number = got && !db_is_null(row, 0) ? db_real(row, 0) : 0;
	return 0;
}

static int add_quantiles(struct history *history, uint64_t since_ms, struct value *stats,
			 struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	owned(free_ptr) double *times = xcalloc(SAMPLE_RUNS, sizeof(*times));
	size_t count = 0;
	int got;

	if (db_prepare(history->db,
		       "SELECT start_ms FROM (SELECT start_ms FROM runs WHERE started_ms>=?1 AND"
		       " start_ms>0 ORDER BY run_id DESC LIMIT 20000) ORDER BY start_ms",
		       &row, err) < 0)
		return -1;
	db_bind_int(row, 1, (int64_t)since_ms);
	while ((got = db_step(row, err)) > 0 && count < SAMPLE_RUNS)
		times[count++] = db_real(row, 0);
	if (got < 0)
		return -1;
	value_add(stats, "start_p50_ms",
		  count ? value_new_real(times[count / 2]) : value_new_null());
	value_add(stats, "start_p95_ms",
		  count ? value_new_real(times[count * 95 / 100]) : value_new_null());
	return 0;
}

struct figure {
	const char *key;
	const char *sql;
	bool is_share; /* of all runs */
};

static const struct figure figures[] = {
	{ "success_rate", "SELECT count(*) FROM runs WHERE started_ms>=?1 AND status='success'",
	  true },
	{ "oom_rate", "SELECT count(*) FROM runs WHERE started_ms>=?1 AND status='oom'", true },
	{ "kill_rate", "SELECT count(*) FROM runs WHERE started_ms>=?1 AND status='killed'", true },
	{ "timeout_rate", "SELECT count(*) FROM runs WHERE started_ms>=?1 AND status='timeout'",
	  true },
	{ "promotions", "SELECT count(*) FROM events WHERE at_ms>=?1 AND kind='promote'", false },
	{ "promotions_undone", "SELECT count(*) FROM events WHERE at_ms>=?1 AND kind='undo'",
	  false },
	{ "guard_decisions", "SELECT count(*) FROM events WHERE at_ms>=?1 AND kind='guard'",
	  false },
};

static int add_figures(struct history *history, uint64_t since_ms, double runs, struct value *stats,
		       struct error *err)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		double number;

		if (ask_number(history, figures[i].sql, since_ms, &number, err) < 0)
			return -1;
		if (!figures[i].is_share)
			value_add(stats, figures[i].key, value_new_int((int64_t)number));
		else
			value_add(stats, figures[i].key,
				  runs > 0 ? value_new_real(number / runs) : value_new_null());
	}
	return 0;
}

/* Success per trace id: per agent, where agents name themselves so. */
static int add_traces(struct history *history, uint64_t since_ms, struct value *stats,
		      struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	struct value *list = value_add(stats, "traces", value_new_list());
	int got;

	if (db_prepare(
		    history->db,
		    "SELECT trace_id,count(*),sum(status='success') FROM runs WHERE trace_id IS NOT"
		    " NULL AND started_ms>=?1 GROUP BY trace_id ORDER BY 2 DESC LIMIT 20",
		    &row, err) < 0)
		return -1;
	db_bind_int(row, 1, (int64_t)since_ms);
	while ((got = db_step(row, err)) > 0) {
		struct value *trace = value_append(list, value_new_map());

		value_add(trace, "trace_id", value_new_text(db_text(row, 0)));
		value_add(trace, "runs", value_new_int(db_int(row, 1)));
		value_add(trace, "success_rate", value_new_real(db_real(row, 2) / db_real(row, 1)));
	}
	return got;
}

int history_stats(struct history *history, uint64_t since_ms, struct value **ret_stats,
		  struct error *err)
{
	owned(value_release) struct value *stats = value_new_map();
	double runs, span_ms, denials;

	if (ask_number(history, "SELECT count(*) FROM runs WHERE started_ms>=?1", since_ms, &runs,
		       err) < 0 ||
	    ask_number(history,
		       "SELECT max(started_ms)-min(started_ms) FROM runs WHERE started_ms>=?1",
		       since_ms, &span_ms, err) < 0 ||
	    ask_number(history, "SELECT sum(denials) FROM runs WHERE started_ms>=?1", since_ms,
		       &denials, err) < 0)
		return -1;
	value_add(stats, "runs", value_new_int((int64_t)runs));
	/* Less than an hour of history is an hour: two runs in a second are not 7,200 an hour. */
	value_add(stats, "runs_per_hour",
		  value_new_real(runs / (span_ms > 3600e3 ? span_ms / 3600e3 : 1)));
	value_add(stats, "denials_per_1000_runs",
		  runs > 0 ? value_new_real(denials * 1000 / runs) : value_new_null());
	if (add_quantiles(history, since_ms, stats, err) < 0 ||
	    add_figures(history, since_ms, runs, stats, err) < 0 ||
	    add_traces(history, since_ms, stats, err) < 0)
		return -1;
	*ret_stats = ptr_take(&stats);
	return 0;
}

int history_last_run(struct history *history, const char *sandbox, struct history_last *ret_last,
		     bool *ret_is_there, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	if (db_prepare(
		    history->db,
		    "SELECT run_id,exit_code,duration_ms,peak_memory FROM runs WHERE sandbox=? AND"
		    " status IS NOT NULL ORDER BY run_id DESC LIMIT 1",
		    &row, err) < 0)
		return -1;
	db_bind_text(row, 1, sandbox);
	got = db_step(row, err);
	*ret_is_there = got > 0;
	if (got <= 0)
		return got;
	*ret_last = (struct history_last){ .exit_code = db_int(row, 1),
					   .duration_ms = db_int(row, 2),
					   .peak_memory = db_int(row, 3) };
	(void)snprintf(ret_last->run_id, sizeof(ret_last->run_id), "%s", db_text(row, 0));
	return 0;
}

int history_net_denials(struct history *history, const char *sandbox, uint64_t since_ms,
			uint64_t *ret_count, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;

	if (db_prepare(history->db,
		       "SELECT total(net_denials) FROM runs WHERE sandbox=? AND started_ms>=?",
		       &row, err) < 0)
		return -1;
	db_bind_text(row, 1, sandbox);
	db_bind_int(row, 2, (int64_t)since_ms);
	if (db_step(row, err) < 0)
		return -1;
	*ret_count = (uint64_t)db_int(row, 0);
	return 0;
}
