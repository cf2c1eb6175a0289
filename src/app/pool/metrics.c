/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted: the record read on, the daemon asked, the store measured now and then. */
#include "app/pool/metrics.h"

#include "app/pool/daemon.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "history/metrics.h"
#include "host/host.h"

#include <fcntl.h>
#include <inttypes.h>

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
};

/* Of the daemon's status: keys of its answer. */
static const struct gauge {
	const char *key, *name, *type, *help;
} gauges[] = {
	{ "pool", "aisbx_pool_size", "gauge", "Sandboxes that the daemon keeps ready at most." },
	{ "ready", "aisbx_pool_ready", "gauge", "Sandboxes that are ready now." },
	{ "given", "aisbx_pool_hits_total", "counter", "Runs that took a ready sandbox." },
	{ "cold", "aisbx_pool_misses_total", "counter", "Runs that asked and started cold." },
	{ "max_running", "aisbx_running_max", "gauge", "Runs at once that the daemon allows." },
	{ "waiting", "aisbx_queued", "gauge", "Runs that wait for others to end." },
	{ "refused", "aisbx_queue_refused_total", "counter", "Runs that found the queue full." },
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

static void add_gauge(struct str *out, const struct gauge *gauge, int64_t number)
{
	str_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRId64 "\n", gauge->name, gauge->help,
		 gauge->name, gauge->type, gauge->name, number);
}

static void add_daemon(struct str *out)
{
	owned(value_release) struct value *status = NULL;
	struct error ignored;
	int64_t number;

	if (app_daemon_status(&status, &ignored) < 0)
		return;
	for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++) {
		if (value_get_int(status, gauges[i].key, &number))
			add_gauge(out, &gauges[i], number);
	}
}

int app_metrics_text(struct app_metrics *metrics, const struct str **ret_text, struct error *err)
{
	static const struct gauge running = { NULL, "aisbx_running", "gauge",
					      "Runs that are under way." };
	static const struct gauge store = { NULL, "aisbx_store_bytes", "gauge",
					    "Room that the store takes." };
	uint64_t now_ns = clock_now_ns();
	int64_t count;

	*ret_text = &metrics->text;
	if (metrics->text.len && now_ns - metrics->made_ns < FRESH_MS * NS_PER_MS)
		return 0;
	if (history_refresh(metrics->history, err) < 0 ||
	    metrics_read(metrics->counts, metrics->history, err) < 0 ||
	    history_running(metrics->history, &count, err) < 0)
		return -1;
	str_clear(&metrics->text);
	metrics_write(metrics->counts, &metrics->text);
	add_gauge(&metrics->text, &running, count);
	measure_store(metrics);
	if (metrics->has_store)
		add_gauge(&metrics->text, &store, (int64_t)metrics->store_bytes);
	add_daemon(&metrics->text);
	metrics->made_ns = now_ns;
	return 0;
}
