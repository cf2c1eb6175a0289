/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted: the record read on, the daemon asked, the store measured now and then. */
#include "app/pool/metrics.h"

#include "app/pool/daemon.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "history/figure.h"
#include "history/metrics.h"
#include "host/host.h"

#include <fcntl.h>

#define NS_PER_MS UINT64_C(1000000)
/* However often it is asked for. */
#define FRESH_MS 1000
#define STORE_MS (5 * 60 * 1000)
/* A store that takes longer to walk has no figure: a part of it would mislead. */
#define WALK_MS 500

struct app_metrics {
	struct history *history;
	struct metrics *counts;
	char *store;
	struct str text;
	uint64_t made_ns, measured_ns;
	uint64_t store_bytes;
	bool has_store;
	struct value *status; /* the daemon's, of the last look; NULL: none answered */
	int64_t daemon;	      /* the process that counts, and since when */
	uint64_t daemon_ms;
};

/* Of the daemon's status: keys of its answer. */
static const struct gauge {
	const char *key;
	struct figure figure;
} gauges[] = {
	{ "pool",
	  { .name = "aisbx_pool_size",
	    .help = "Sandboxes that the daemon keeps ready at most.",
	    .kind = FIGURE_GAUGE } },
	{ "ready",
	  { .name = "aisbx_pool_ready",
	    .help = "Sandboxes that are ready now.",
	    .kind = FIGURE_GAUGE } },
	{ "given",
	  { .name = "aisbx_pool_hits_total",
	    .help = "Runs that took a ready sandbox.",
	    .kind = FIGURE_COUNTER } },
	{ "cold",
	  { .name = "aisbx_pool_misses_total",
	    .help = "Runs that asked and started cold.",
	    .kind = FIGURE_COUNTER } },
	{ "max_running",
	  { .name = "aisbx_running_max",
	    .help = "Runs at once that the daemon allows.",
	    .kind = FIGURE_GAUGE } },
	{ "waiting",
	  { .name = "aisbx_queued",
	    .help = "Runs that wait for others to end.",
	    .kind = FIGURE_GAUGE } },
	{ "refused",
	  { .name = "aisbx_queue_refused_total",
	    .help = "Runs that found the queue full.",
	    .kind = FIGURE_COUNTER } },
};

int app_metrics_open(struct app_metrics **ret_metrics, struct error *err)
{
	owned(app_metrics_release) struct app_metrics *metrics = xcalloc(1, sizeof(*metrics));
	owned(host_done) struct host host = { 0 };

	metrics->counts = metrics_new();
	if (host_read(&host, err) < 0 || history_open(host.state_dir, &metrics->history, err) < 0)
		return -1;
	metrics->store = xstrdup(host.data_dir);
	*ret_metrics = ptr_take(&metrics);
	return 0;
}

void app_metrics_release(struct app_metrics **slot)
{
	struct app_metrics *metrics = *slot;

	if (!metrics)
		return;
	history_release(&metrics->history);
	metrics_release(&metrics->counts);
	free(metrics->store);
	str_done(&metrics->text);
	value_release(&metrics->status);
	free(metrics);
	*slot = NULL;
}

static int add_bytes(const struct walk_entry *entry, void *cookie)
{
	uint64_t *bytes = cookie;

	/* A file with several names is counted with each of its shares. */
	if (!entry->is_leaving)
		*bytes += entry->st->stx_blocks * 512 /
			  (S_ISDIR(entry->st->stx_mode) ? 1 : entry->st->stx_nlink);
	return 0;
}

static void measure_store(struct app_metrics *metrics)
{
	/* Not the caller's time: reading the record may have taken longer than the walk may. */
	uint64_t now_ns = clock_now_ns(), bytes = 0;
	struct walk walk = { .purpose = WALK_MEASURE,
			     .visit = add_bytes,
			     .cookie = &bytes,
			     .until_ns = now_ns + WALK_MS * NS_PER_MS };

	if (metrics->measured_ns && now_ns - metrics->measured_ns < STORE_MS * NS_PER_MS)
		return;
	metrics->measured_ns = now_ns;
	metrics->has_store =
		walk_tree(&walk, AT_FDCWD, metrics->store) == 0 && !(walk.missed & WALK_CUT);
	metrics->store_bytes = bytes;
}

static void add_one(struct figure_report *report, const struct figure *figure, int64_t number,
		    uint64_t since_ms)
{
	const struct figure_series series = { .count = (uint64_t)number };
	const struct figure_values values = { &series, 1, since_ms };

	report->add(report, figure, &values);
}

/* A daemon that ends answers no more: what it said last holds. */
static void ask_daemon(struct app_metrics *metrics)
{
	struct error ignored;
	int64_t pid, uptime_ms;

	value_release(&metrics->status);
	if (app_daemon_status(&metrics->status, &ignored) < 0 ||
	    !value_get_int(metrics->status, "pid", &pid) ||
	    !value_get_int(metrics->status, "uptime_ms", &uptime_ms) || pid == metrics->daemon)
		return;
	/* Once: a start that is reckoned anew each time would be another by a millisecond. */
	metrics->daemon = pid;
	metrics->daemon_ms = clock_epoch_ms() - (uint64_t)uptime_ms;
}

static void add_daemon(const struct app_metrics *metrics, struct figure_report *report)
{
	int64_t number;

	for (size_t i = 0; metrics->status && i < sizeof(gauges) / sizeof(gauges[0]); i++) {
		if (value_get_int(metrics->status, gauges[i].key, &number))
			add_one(report, &gauges[i].figure, number, metrics->daemon_ms);
	}
}

/* Counts what came since the last time. */
static int look(struct app_metrics *metrics, int64_t *ret_running, struct error *err)
{
	if (history_refresh(metrics->history, err) < 0 ||
	    metrics_read(metrics->counts, metrics->history, err) < 0 ||
	    history_running(metrics->history, ret_running, err) < 0)
		return -1;
	measure_store(metrics);
	return 0;
}

static void report_all(const struct app_metrics *metrics, int64_t running_count,
		       struct figure_report *report)
{
	static const struct figure running = { .name = "aisbx_running",
					       .help = "Runs that are under way.",
					       .kind = FIGURE_GAUGE };
	static const struct figure store = { .name = "aisbx_store_bytes",
					     .help = "Room that the store takes.",
					     .kind = FIGURE_GAUGE,
					     .unit = "By" };

	metrics_report(metrics->counts, report);
	add_one(report, &running, running_count, 0);
	if (metrics->has_store)
		add_one(report, &store, (int64_t)metrics->store_bytes, 0);
	add_daemon(metrics, report);
}

int app_metrics_text(struct app_metrics *metrics, const struct str **ret_text, struct error *err)
{
	uint64_t now_ns = clock_now_ns();
	struct figure_report report;
	int64_t running;

	*ret_text = &metrics->text;
	if (metrics->text.len && now_ns - metrics->made_ns < FRESH_MS * NS_PER_MS)
		return 0;
	if (look(metrics, &running, err) < 0)
		return -1;
	ask_daemon(metrics);
	str_clear(&metrics->text);
	figure_report_text(&report, &metrics->text);
	report_all(metrics, running, &report);
	metrics->made_ns = now_ns;
	return 0;
}

int app_metrics_otlp(struct app_metrics *metrics, bool is_last, struct str *out, struct error *err)
{
	struct figure_report report;
	int64_t running;

	if (look(metrics, &running, err) < 0)
		return -1;
	if (!is_last)
		ask_daemon(metrics);
	figure_report_otlp(&report, out);
	report_all(metrics, running, &report);
	figure_report_otlp_end(&report);
	return 0;
}
