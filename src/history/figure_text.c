/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as Prometheus reads them. */
#include "history/figure.h"

#include <inttypes.h>
#include <stdio.h>

const double figure_bounds[FIGURE_BUCKETS] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
					       0.25,  0.5,    1,     2.5,  10,	  60,	600 };

/* name{label="word",...}; EXTRA is one more, or NULL. */
static void write_name(const struct figure *figure, const struct figure_series *series,
		       const char *suffix, const char *extra, struct str *out)
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

static void write_histogram(const struct figure *figure, const struct figure_series *series,
			    struct str *out)
{
	char bound[32];

	for (size_t i = 0; i < FIGURE_BUCKETS; i++) {
		(void)snprintf(bound, sizeof(bound), "%g", figure_bounds[i]);
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

static void add_text(struct figure_report *report, const struct figure *figure,
		     const struct figure_values *values)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };
	struct str *out = report->out;

	str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", figure->name, figure->help, figure->name,
		 types[figure->kind]);
	for (size_t i = 0; i < values->count; i++) {
		const struct figure_series *series = &values->series[i];

		if (figure->kind == FIGURE_HISTOGRAM) {
			write_histogram(figure, series, out);
			continue;
		}
		write_name(figure, series, "", NULL, out);
		str_addf(out, "%" PRIu64 "\n", series->count);
	}
}

void figure_report_text(struct figure_report *ret_report, struct str *out)
{
	*ret_report = (struct figure_report){ .add = add_text, .out = out };
}
