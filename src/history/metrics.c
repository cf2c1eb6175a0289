/* SPDX-License-Identifier: Apache-2.0 */
/* Figures over the record: one row and one question to the database each. */
#include "history/metrics.h"

#include "base/core/own.h"
#include "history/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Upper bounds of the buckets, in seconds. */
static const double bounds[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
				 0.25,	0.5,	1,     2.5,  10,    60,	  600 };
#define BUCKETS (sizeof(bounds) / sizeof(bounds[0]))
/* Of one figure; what else there is goes to the last. */
#define SERIES_MAX 32
#define LABEL_MAX 24

struct figure {
	const char *name, *help;
	const char *labels[2]; /* the first two columns' names; NULL: none */
	bool is_histogram;     /* the third column is one value, in seconds; else a number to add */
	const char *sql;       /* over records behind ?1, up to ?2 */
};

#define WINDOW " seq>?1 AND seq<=?2"
#define ENDED " FROM journal JOIN runs ON run_id=key WHERE journal.kind=2 AND" WINDOW
#define EVENTS \
	" FROM journal JOIN events ON id=CAST(key AS INTEGER) WHERE journal.kind=3 AND" WINDOW

static const struct figure figures[] = {
	{ "aisbx_runs_total",
	  "Runs that ended, by how.",
	  { "status" },
	  false,
	  "SELECT status,NULL,count(*)" ENDED " GROUP BY 1" },
	{ "aisbx_start_seconds",
	  "From the request to the command: of a sandbox from the pool, made for the run (cold), "
	  "or "
	  "entered.",
	  { "start" },
	  true,
	  "SELECT ifnull(start,'entered'),NULL,start_ms/1000" ENDED " AND start_ms>0" },
	{ "aisbx_queue_seconds",
	  "Time that runs waited while others ran.",
	  { NULL },
	  true,
	  "SELECT NULL,NULL,queued_ms/1000" ENDED " AND queued_ms IS NOT NULL" },
	{ "aisbx_run_seconds",
	  "Duration of runs, by how they ended.",
	  { "status" },
	  true,
	  "SELECT status,NULL,duration_ms/1000" ENDED " AND duration_ms IS NOT NULL" },
	{ "aisbx_limits_total",
	  "Limits that runs met, by kind.",
	  { "limit" },
	  false,
	  "SELECT value,NULL,count(*) FROM journal JOIN runs ON "
	  "run_id=journal.key,json_each(CASE WHEN json_valid(limits) THEN limits END)"
	  " WHERE journal.kind=2 AND limits IS NOT NULL AND" WINDOW " GROUP BY 1" },
	{ "aisbx_denials_total",
	  "What was refused to runs, by layer; net: network violations.",
	  { "layer" },
	  false,
	  "SELECT layer,NULL,sum(count) FROM journal JOIN denials ON run_id=key WHERE "
	  "journal.kind=2 AND" WINDOW " GROUP BY 1" },
	{ "aisbx_promotions_total",
	  "Promotions applied, undone, refused, and ended by a conflict.",
	  { "outcome" },
	  false,
	  "SELECT CASE events.kind WHEN 'promote' THEN 'applied' WHEN 'undo' THEN 'undone'"
	  " WHEN 'conflict' THEN 'conflict' ELSE 'refused' END,NULL,count(*)" EVENTS
	  " AND events.kind IN ('promote','undo','conflict','reject','refuse') GROUP BY 1" },
	{ "aisbx_agent_runs_total",
	  "Runs with a trace id by their place in the trace, and whether they ended well.",
	  { "steps", "outcome" },
	  false,
	  "SELECT CASE WHEN n<1 THEN '1' WHEN n<3 THEN '2-3' WHEN n<7 THEN '4-7' WHEN n<15 THEN"
	  " '8-15' ELSE '16+' END,CASE status WHEN 'success' THEN 'success' ELSE 'failure' END,"
	  "count(*) FROM (SELECT status,(SELECT count(*) FROM (SELECT 1 FROM runs AS b WHERE"
	  " b.trace_id=a.trace_id AND b.run_id<a.run_id LIMIT 15)) AS n FROM journal JOIN runs AS a"
	  " ON a.run_id=key WHERE journal.kind=2 AND a.trace_id IS NOT NULL AND" WINDOW
	  ") GROUP BY 1,2" },
	{ "aisbx_events_total",
	  "What else is on record, by kind.",
	  { "event" },
	  false,
	  "SELECT events.kind,NULL,count(*)" EVENTS " GROUP BY 1" },
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

struct series {
	char labels[2][LABEL_MAX + 1];
	uint64_t count, buckets[BUCKETS];
	double sum;
};

struct metrics {
	int64_t done; /* the last record that is counted */
	struct {
		struct series series[SERIES_MAX];
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
	return len > 0 && len <= LABEL_MAX && !text[len] ? text : "other";
}

static struct series *find_series(struct metrics *metrics, size_t at, const char *first,
				  const char *second)
{
	struct series *all = metrics->figures[at].series;
	size_t count = metrics->figures[at].count;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(all[i].labels[0], first) == 0 && strcmp(all[i].labels[1], second) == 0)
			return &all[i];
	}
	/* The last one is for all that there is no room for. */
	if (count == SERIES_MAX - 1 && strcmp(first, "other") != 0)
		return find_series(metrics, at, "other", figures[at].labels[1] ? "other" : second);
	if (count == SERIES_MAX)
		return &all[count - 1];
	(void)snprintf(all[count].labels[0], sizeof(all[count].labels[0]), "%s", first);
	(void)snprintf(all[count].labels[1], sizeof(all[count].labels[1]), "%s", second);
	metrics->figures[at].count++;
	return &all[count];
}

static void add_row(struct metrics *metrics, size_t at, struct db_statement *row)
{
	struct series *series =
		find_series(metrics, at, label_of(db_text(row, 0)), label_of(db_text(row, 1)));
	double value = db_real(row, 2);

	/* A count never goes down, whatever the record says. */
	if (value < 0)
		return;
	if (!figures[at].is_histogram) {
		series->count += (uint64_t)db_int(row, 2);
		return;
	}
	series->count++;
	series->sum += value;
	for (size_t i = 0; i < BUCKETS; i++)
		series->buckets[i] += value <= bounds[i];
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

int metrics_read(struct metrics *metrics, struct history *history, struct error *err)
{
	struct history_place last;

	if (history_place_last(history, &last, err) < 0)
		return -1;
	/* A new database counts anew. */
	if (last.record < metrics->done)
		memset(metrics, 0, sizeof(*metrics));
	for (size_t i = 0; last.record > metrics->done && i < FIGURES; i++) {
		if (read_figure(metrics, history, i, last.record, err) < 0)
			return -1;
	}
	metrics->done = last.record;
	return 0;
}

/* name{label="word",...}; EXTRA is one more, or NULL. */
static void write_name(const struct figure *figure, const struct series *series, const char *suffix,
		       const char *extra, struct str *out)
{
	const char *before = "{";

	str_addf(out, "%s%s", figure->name, suffix);
	for (size_t i = 0; i < 2 && figure->labels[i]; i++, before = ",")
		str_addf(out, "%s%s=\"%s\"", before, figure->labels[i], series->labels[i]);
	if (extra) {
		str_addf(out, "%sle=\"%s\"", before, extra);
		before = ",";
	}
	str_add(out, *before == ',' ? "} " : " ");
}

static void write_histogram(const struct figure *figure, const struct series *series,
			    struct str *out)
{
	char bound[32];

	for (size_t i = 0; i < BUCKETS; i++) {
		(void)snprintf(bound, sizeof(bound), "%g", bounds[i]);
		write_name(figure, series, "_bucket", bound, out);
		str_addf(out, "%" PRIu64 "\n", series->buckets[i]);
	}
	write_name(figure, series, "_bucket", "+Inf", out);
	str_addf(out, "%" PRIu64 "\n", series->count);
	write_name(figure, series, "_sum", NULL, out);
	str_addf(out, "%.6f\n", series->sum);
	write_name(figure, series, "_count", NULL, out);
	str_addf(out, "%" PRIu64 "\n", series->count);
}

void metrics_write(const struct metrics *metrics, struct str *out)
{
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure *figure = &figures[i];

		str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", figure->name, figure->help,
			 figure->name, figure->is_histogram ? "histogram" : "counter");
		for (size_t j = 0; j < metrics->figures[i].count; j++) {
			const struct series *series = &metrics->figures[i].series[j];

			if (figure->is_histogram) {
				write_histogram(figure, series, out);
				continue;
			}
			write_name(figure, series, "", NULL, out);
			str_addf(out, "%" PRIu64 "\n", series->count);
		}
	}
}
