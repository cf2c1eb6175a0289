/* SPDX-License-Identifier: Apache-2.0 */
/* Figures to a collector of OpenTelemetry. Each message has all that was counted: one that is lost is made up for by the next. */
#ifndef APP_METRICS_SEND_H
#define APP_METRICS_SEND_H

#include "app/record/otlp.h"

/* Once. Fails when the collector has not taken them. */
int app_metrics_send(struct otlp *otlp, struct error *err);

struct metrics_sender {
	struct otlp *otlp;
	uint64_t every_ms;
	/* What went wrong; the same is said once, until a message is taken again. */
	void (*note)(void *cookie, const char *text);
	void *cookie;
};

/* Again and again, until a signal asks this process to end; then once more, for which it takes METRICS_LAST_MS at most. */
int app_metrics_send_on(const struct metrics_sender *sender, struct error *err);

#define METRICS_LAST_MS 4000

/* Milliseconds between two messages, as OTEL_METRIC_EXPORT_INTERVAL says. */
uint64_t app_metrics_interval(const char *const *environ);

#endif
