/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as OpenTelemetry's metrics: sums and histograms that grow from a start on, and gauges. */
#include "base/core/clock.h"
#include "base/text/json_otlp.h"
#include "history/figure.h"

#include <stdio.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
/* AGGREGATION_TEMPORALITY_CUMULATIVE */
#define CUMULATIVE 2

/* Here a bucket counts what lies between two bounds, and there is one more for what lies above the last. */
static void write_buckets(struct json *json, const struct figure_series *series)
{
	uint64_t below = 0;
	char bound[32];

	json_key(json, "bucketCounts");
	json_open(json, '[');
	for (size_t i = 0; i < FIGURE_BUCKETS; i++) {
		json_otlp_count(json, series->buckets[i] - below);
		below = series->buckets[i];
	}
	json_otlp_count(json, series->count - below);
	json_close(json, ']');
	json_key(json, "explicitBounds");
	json_open(json, '[');
	for (size_t i = 0; i < FIGURE_BUCKETS; i++) {
		(void)snprintf(bound, sizeof(bound), "%g", figure_bounds[i]);
		json_raw(json, bound, strlen(bound));
	}
	json_close(json, ']');
}

static void write_point(const struct figure_report *report, const struct figure *figure,
			const struct figure_series *series, struct json *json, uint64_t since_ms)
{
	char sum[64];

	json_open(json, '{');
	json_key(json, "attributes");
	json_open(json, '[');
	for (size_t i = 0; i < 2 && figure->labels[i]; i++)
		json_otlp_attribute(json, figure->labels[i], "stringValue", series->labels[i]);
	json_close(json, ']');
	if (figure->kind != FIGURE_GAUGE)
		json_otlp_number(json, "startTimeUnixNano", since_ms * NS_PER_MS);
	json_otlp_number(json, "timeUnixNano", report->now_ms * NS_PER_MS);
	if (figure->kind == FIGURE_HISTOGRAM) {
		json_otlp_number(json, "count", series->count);
		json_key(json, "sum");
		(void)snprintf(sum, sizeof(sum), "%.6f", series->sum);
		json_raw(json, sum, strlen(sum));
		write_buckets(json, series);
	} else {
		json_otlp_number(json, "asInt", series->count);
	}
	json_close(json, '}');
}

static void add_otlp(struct figure_report *report, const struct figure *figure,
		     const struct figure_values *values)
{
	static const char *const kinds[] = { "sum", "gauge", "histogram" };
	struct json *json = &report->json;
	/* A record from a clock that was ahead does not make a start behind the end. */
	uint64_t since_ms = values->since_ms < report->now_ms ? values->since_ms : report->now_ms;

	if (values->count == 0)
		return;
	json_open(json, '{');
	json_key(json, "name");
	json_text(json, figure->name);
	json_key(json, "description");
	json_text(json, figure->help);
	if (figure->unit) {
		json_key(json, "unit");
		json_text(json, figure->unit);
	}
	json_key(json, kinds[figure->kind]);
	json_open(json, '{');
	if (figure->kind != FIGURE_GAUGE) {
		json_key(json, "aggregationTemporality");
		json_int(json, CUMULATIVE);
	}
	if (figure->kind == FIGURE_COUNTER) {
		json_key(json, "isMonotonic");
		json_bool(json, true);
	}
	json_key(json, "dataPoints");
	json_open(json, '[');
	for (size_t i = 0; i < values->count; i++)
		write_point(report, figure, &values->series[i], json, since_ms);
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, '}');
}

void figure_report_otlp(struct figure_report *ret_report, struct str *out)
{
	*ret_report =
		(struct figure_report){ .add = add_otlp, .out = out, .now_ms = clock_epoch_ms() };
	json_init(&ret_report->json, out);
	json_open(&ret_report->json, '[');
}

void figure_report_otlp_end(struct figure_report *report)
{
	json_close(&report->json, ']');
}
