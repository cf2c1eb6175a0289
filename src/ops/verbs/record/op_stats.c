/* SPDX-License-Identifier: Apache-2.0 */
/* `stats`: the figures an owner watches. */
#include "base/core/own.h"
#include "app/record/fleet.h"
#include "app/record/history.h"
#include "app/pool/metrics.h"
#include "app/pool/metrics_send.h"
#include "ops/figures.h"
#include "ops/rows/rows.h"
#include "ops/text/since.h"
#include "ops/text/words.h"

#include <sys/socket.h>

#pragma weak figures_serve

/* What `daemon --metrics` hands to it. */
#define LISTEN_FD 3

struct figure {
	const char *key, *title, *unit;
	double scale;
	int digits;
};

static const struct figure figures[] = {
	{ "runs", "runs", "", 1, 0 },
	{ "runs_per_hour", "runs an hour", "", 1, 1 },
	{ "start_p50_ms", "start, half are below", " ms", 1, 2 },
	{ "start_p95_ms", "start, 95 of 100 below", " ms", 1, 2 },
	{ "success_rate", "ended well", " %", 100, 1 },
	{ "timeout_rate", "out of time", " %", 100, 1 },
	{ "oom_rate", "out of memory", " %", 100, 1 },
	{ "kill_rate", "killed", " %", 100, 1 },
	{ "denials_per_1000_runs", "refusals in 1,000 runs", "", 1, 1 },
	{ "promotions", "promotions", "", 1, 0 },
	{ "promotions_undone", "of these taken back", "", 1, 0 },
	{ "guard_decisions", "commands guarded", "", 1, 0 },
};

static void write_figures(const struct value *stats, struct str *out)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const struct figure *figure = &figures[i];
		const struct value *item = value_get(stats, figure->key);

		str_addf(out, "%-24s ", figure->title);
		if (item->kind == VALUE_NULL)
			str_add(out, "-\n");
		else
			str_addf(out, "%.*f%s\n", figure->digits,
				 figure->scale * (item->kind == VALUE_REAL ? item->real
									   : (double)item->integer),
				 figure->unit);
	}
}

static void write_traces(const struct value *stats, struct str *out)
{
	const struct value *traces = value_get(stats, "traces");

	for (size_t i = 0; i < traces->many.count; i++) {
		const struct value *trace = traces->many.items[i];
		int64_t runs = 0;

		(void)value_get_int(trace, "runs", &runs);
		str_add(out, i ? "  " : "by trace id\n  ");
		words_add_line(out, value_get_text(trace, "trace_id"));
		str_addf(out, ": %lld runs, %.1f %% ended well\n", (long long)runs,
			 100 * value_get(trace, "success_rate")->real);
	}
}

static int give_text(void *cookie, const struct str **ret_text, struct error *err)
{
	struct app_metrics **slot = cookie;

	if (!*slot && app_metrics_open(slot, err) < 0)
		return -1;
	if (app_metrics_text(*slot, ret_text, err) == 0)
		return 0;
	/* The next one opens it anew: the record may have been mended by then. */
	app_metrics_release(slot);
	return -1;
}

/* For programs that watch: printed once, or served until the process is ended. */
static int give_prometheus(struct op_call *call, bool is_served, struct error *err)
{
	owned(app_metrics_release) struct app_metrics *metrics = NULL;
	int listen_fd = LISTEN_FD, listens = 0;
	socklen_t size = sizeof(listens);
	const struct str *text;

	/* Only the program with the library can; this one hands over. */
	if (is_served && !figures_serve)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-http");
	if (is_served &&
	    (getsockopt(listen_fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens))
		return error_advise(err, ERROR_USAGE, "aisbx daemon --metrics 127.0.0.1:PORT",
				    "--serve is for a daemon, which has the socket");
	/* A server goes on beside a record that cannot be read, and answers 503. */
	int status = give_text(&metrics, &text, err);

	if (is_served)
		return figures_serve(&(struct figures_setup){ &listen_fd, give_text, &metrics },
				     err);
	if (status < 0)
		return -1;
	str_add_bytes(&call->text, text->data, text->len);
	return 0;
}

/* To a collector: once, or what `daemon --otlp` starts. */
static int send_figures(struct op_call *call, const char *url, struct error *err)
{
	owned(otlp_release) struct otlp *otlp = NULL;
	struct metrics_sender sender = { .every_ms = app_metrics_interval(call->environ),
					 .note = op_note_line,
					 .cookie = call };

	if (otlp_open(OTLP_METRICS, url, call->environ, &otlp, err) < 0)
		return -1;
	if (!op_arg_switch(call, "follow"))
		return app_metrics_send(otlp, err);
	sender.otlp = otlp;
	return app_metrics_send_on(&sender, err);
}

int op_stats_run(struct op_call *call, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(pg_release) struct pg *pg = NULL;
	const char *url = op_arg_text(call, "from");
	const char *collector = op_arg_text(call, "otlp");
	bool is_served = op_arg_switch(call, "serve");
	uint64_t since_ms;

	if (op_want_words(call, 0, 0, err) < 0)
		return -1;
	if (op_arg_switch(call, "follow") && !collector)
		return error_set(err, ERROR_USAGE, "--follow is for --otlp URL");
	if (is_served || collector || op_arg_switch(call, "prometheus")) {
		if (call->json || url || op_arg_text(call, "since") ||
		    (collector && (is_served || op_arg_switch(call, "prometheus"))))
			return error_set(err, ERROR_USAGE,
					 "%s is a form of its own, of all that is on record here: "
					 "no --json, --since or --from",
					 collector ? "--otlp" : "--prometheus");
		return collector ? send_figures(call, collector, err)
				 : give_prometheus(call, is_served, err);
	}
	if (since_read(op_arg_text(call, "since"), &since_ms, err) < 0)
		return -1;
	if (url ? pg_open(url, &pg, err) < 0 || fleet_stats(pg, since_ms, &call->answer, err) < 0
		: app_history(&history, err) < 0 ||
			    history_stats(history, since_ms, &call->answer, err) < 0)
		return -1;
	write_figures(call->answer, &call->text);
	write_traces(call->answer, &call->text);
	return 0;
}
