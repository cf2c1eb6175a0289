/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A figure that programs watch, in two forms: Prometheus' text, and OTLP's JSON. Who has figures hands each to a report, and does
 * not know which form it becomes.
 */
#ifndef HISTORY_FIGURE_H
#define HISTORY_FIGURE_H

#include "base/core/str.h"
#include "base/text/json_write.h"

#include <stddef.h>
#include <stdint.h>

enum figure_kind { FIGURE_COUNTER, FIGURE_GAUGE, FIGURE_HISTOGRAM };

struct figure {
	const char *name, *help;
	enum figure_kind kind;
	const char *unit;      /* as OTLP has it; NULL: a count */
	const char *labels[2]; /* NULL: none */
};

/* Upper bounds of a histogram's buckets, in seconds; a value on a bound lies below it. */
#define FIGURE_BUCKETS 14
extern const double figure_bounds[FIGURE_BUCKETS];

#define FIGURE_LABEL_MAX 24

/* A value by its labels. */
struct figure_series {
	char labels[2][FIGURE_LABEL_MAX + 1];
	uint64_t count;			  /* of a histogram: of all its values */
	uint64_t buckets[FIGURE_BUCKETS]; /* of a histogram: of those up to each bound */
	double sum;
};

/* What there is of a figure now. */
struct figure_values {
	const struct figure_series *series;
	size_t count;
	uint64_t since_ms; /* what is counted, is counted from then on */
};

struct figure_report {
	void (*add)(struct figure_report *report, const struct figure *figure,
		    const struct figure_values *values);
	struct str *out;
	struct json json;
	uint64_t now_ms;
};

/* Appends to OUT what Prometheus takes. */
void figure_report_text(struct figure_report *ret_report, struct str *out);

/* Appends to OUT a list of OTLP's metrics, closed by the second call. Figures without a value are not among them. */
void figure_report_otlp(struct figure_report *ret_report, struct str *out);
void figure_report_otlp_end(struct figure_report *report);

#endif
