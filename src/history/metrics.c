/* SPDX-License-Identifier: Apache-2.0 */
/* Figures over the record: one row and one question to the database each. */
#include "history/metrics.h"

#include "base/core/own.h"
#include "history/parts.h"

#include <stdio.h>
#include <string.h>

/* Of one figure; what else there is goes to the last. */
#define SERIES_MAX 32
#define VALUE_MAX 1e12

struct counted {
	struct figure figure;
	/* Over records behind ?1, up to ?2: two columns for the labels, then a number to add, or one value of a histogram. */
	const char *sql;
};

#define WINDOW " seq>?1 AND seq<=?2"
#define ENDED " FROM journal JOIN runs ON run_id=key WHERE journal.kind=2 AND" WINDOW
#define EVENTS \
	" FROM journal JOIN events ON id=CAST(key AS INTEGER) WHERE journal.kind=3 AND" WINDOW

static const struct counted figures[] = {
	{ { "aisbx_runs_total", "Runs that ended, by how.", FIGURE_COUNTER, NULL, { "status" } },
	  "SELECT status,NULL,count(*)" ENDED " GROUP BY 1" },
	{ { "aisbx_start_seconds",
	    "From the request to the command: of a sandbox from the pool, made for the run (cold), "
	    "or "
	    "entered.",
	    FIGURE_HISTOGRAM,
	    "s",
	    { "start" } },
	  "SELECT ifnull(start,'entered'),NULL,start_ms/1000" ENDED " AND start_ms>0" },
	{ { "aisbx_queue_seconds",
	    "Time that runs waited while others ran.",
	    FIGURE_HISTOGRAM,
	    "s",
	    { NULL } },
	  "SELECT NULL,NULL,queued_ms/1000" ENDED " AND queued_ms IS NOT NULL" },
	{ { "aisbx_run_seconds",
	    "Duration of runs, by how they ended.",
	    FIGURE_HISTOGRAM,
	    "s",
	    { "status" } },
	  "SELECT status,NULL,duration_ms/1000" ENDED " AND duration_ms IS NOT NULL" },
	{ { "aisbx_limits_total",
	    "Limits that runs met, by kind.",
	    FIGURE_COUNTER,
	    NULL,
	    { "limit" } },
	  "SELECT value,NULL,count(*) FROM journal JOIN runs ON "
	  "run_id=journal.key,json_each(CASE WHEN json_valid(limits) THEN limits END)"
	  " WHERE journal.kind=2 AND limits IS NOT NULL AND" WINDOW " GROUP BY 1" },
	{ { "aisbx_denials_total",
	    "What was refused to runs, by layer; net: network violations.",
	    FIGURE_COUNTER,
	    NULL,
	    { "layer" } },
	  "SELECT layer,NULL,sum(count) FROM journal JOIN denials ON run_id=key WHERE "
	  "journal.kind=2 AND" WINDOW " GROUP BY 1" },
	{ { "aisbx_promotions_total",
	    "Promotions applied, undone, refused, and ended by a conflict.",
	    FIGURE_COUNTER,
	    NULL,
	    { "outcome" } },
	  "SELECT CASE events.kind WHEN 'promote' THEN 'applied' WHEN 'undo' THEN 'undone'"
	  " WHEN 'conflict' THEN 'conflict' ELSE 'refused' END,NULL,count(*)" EVENTS
	  " AND events.kind IN ('promote','undo','conflict','reject','refuse') GROUP BY 1" },
	{ { "aisbx_agent_runs_total",
	    "Runs with a trace id by their place in the trace, and whether they ended well.",
	    FIGURE_COUNTER,
	    NULL,
	    { "steps", "outcome" } },
	  "SELECT CASE WHEN n<1 THEN '1' WHEN n<3 THEN '2-3' WHEN n<7 THEN '4-7' WHEN n<15 THEN"
	  " '8-15' ELSE '16+' END,CASE status WHEN 'success' THEN 'success' ELSE 'failure' END,"
	  "count(*) FROM (SELECT status,(SELECT count(*) FROM (SELECT 1 FROM runs AS b WHERE"
	  " b.trace_id=a.trace_id AND b.run_id<a.run_id LIMIT 15)) AS n FROM journal JOIN runs AS a"
	  " ON a.run_id=key WHERE journal.kind=2 AND a.trace_id IS NOT NULL AND" WINDOW
	  ") GROUP BY 1,2" },
	{ { "aisbx_events_total",
	    "What else is on record, by kind.",
	    FIGURE_COUNTER,
	    NULL,
	    { "event" } },
	  "SELECT events.kind,NULL,count(*)" EVENTS " GROUP BY 1" },
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

struct metrics {
	int64_t done; /* the last record that is counted */
	uint64_t since_ms;
	struct {
		struct figure_series series[SERIES_MAX];
		size_t count;
	} figures[FIGURES];
};

struct metrics *metrics_new(void)
{
	return xcalloc(1, sizeof(struct metrics));
}

void metrics_release(struct metrics **slot)
{
	free(*slot);
	*slot = NULL;
}

/* A record that was damaged, or is another program's, brings no word of its own into a label. */
static const char *label_of(const char *text)
{
	size_t len = text ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-+_") : 0;

	if (!text)
		return "none";
	return len > 0 && len <= FIGURE_LABEL_MAX && !text[len] ? text : "other";
}

static struct figure_series *find_series(struct metrics *metrics, size_t at, const char *first,
					 const char *second)
{
	struct figure_series *all = metrics->figures[at].series;
	size_t count = metrics->figures[at].count;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(all[i].labels[0], first) == 0 && strcmp(all[i].labels[1], second) == 0)
			return &all[i];
	}
	/* The last one is for all that there is no room for. */
	if (count == SERIES_MAX - 1 && strcmp(first, "other") != 0)
		return find_series(metrics, at, "other",
				   figures[at].figure.labels[1] ? "other" : second);
	if (count == SERIES_MAX)
		return &all[count - 1];
	(void)snprintf(all[count].labels[0], sizeof(all[count].labels[0]), "%s", first);
	(void)snprintf(all[count].labels[1], sizeof(all[count].labels[1]), "%s", second);
	metrics->figures[at].count++;
	return &all[count];
}

static void add_row(struct metrics *metrics, size_t at, struct db_statement *row)
{
	struct figure_series *series =
		find_series(metrics, at, label_of(db_text(row, 0)), label_of(db_text(row, 1)));
	double value = db_real(row, 2);

	/* A count never goes down, and a sum stays a number, whatever the record says. */
	if (!(value >= 0 && value < VALUE_MAX))
		return;
	if (figures[at].figure.kind != FIGURE_HISTOGRAM) {
		series->count += (uint64_t)db_int(row, 2);
		return;
	}
	series->count++;
	series->sum += value;
	for (size_t i = 0; i < FIGURE_BUCKETS; i++)
		series->buckets[i] += value <= figure_bounds[i];
}

static int read_figure(struct metrics *metrics, struct history *history, size_t at, int64_t last,
		       struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	if (db_prepare(history->db, figures[at].sql, &row, err) < 0)
		return -1;
	db_bind_int(row, 1, metrics->done);
	db_bind_int(row, 2, last);
	while ((got = db_step(row, err)) > 0)
		add_row(metrics, at, row);
	return got;
}

/*
 * When the oldest record was made: the same for every process that counts this record, so that a count that a new one takes up
 * is no count that began anew.
 */
static int read_since(struct metrics *metrics, struct history *history, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	if (db_prepare(history->db,
		       "SELECT CASE journal.kind WHEN 3 THEN (SELECT at_ms FROM events WHERE"
		       " id=CAST(key AS INTEGER)) ELSE (SELECT started_ms FROM runs WHERE"
		       " run_id=key) END AS at FROM journal WHERE at>0 ORDER BY seq LIMIT 1",
		       &row, err) < 0)
		return -1;
	got = db_step(row, err);
	if (got > 0)
		metrics->since_ms = (uint64_t)db_int(row, 0);
	return got;
}

int metrics_read(struct metrics *metrics, struct history *history, struct error *err)
{
	struct history_place last;

	if (history_place_last(history, &last, err) < 0)
		return -1;
	/* A new database counts anew. */
	if (last.record < metrics->done)
		memset(metrics, 0, sizeof(*metrics));
	if (!metrics->since_ms && read_since(metrics, history, err) < 0)
		return -1;
	for (size_t i = 0; last.record > metrics->done && i < FIGURES; i++) {
		if (read_figure(metrics, history, i, last.record, err) < 0)
			return -1;
	}
	metrics->done = last.record;
	return 0;
}

void metrics_report(const struct metrics *metrics, struct figure_report *report)
{
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure_values values = { .series = metrics->figures[i].series,
						      .count = metrics->figures[i].count,
						      .since_ms = metrics->since_ms };

		report->add(report, &figures[i].figure, &values);
	}
}
