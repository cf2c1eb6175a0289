/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted, for programs that watch: of the record, of the store and of the daemon. In the program with libraries. */
#ifndef APP_METRICS_H
#define APP_METRICS_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>

struct app_metrics;

int app_metrics_open(struct app_metrics **ret_metrics, struct error *err);
/* Cleanup for owned(app_metrics_release) struct app_metrics *m. */
void app_metrics_release(struct app_metrics **slot);

/*
 * All figures in Prometheus' text form. It is the same text within a second, and the room that the store takes is looked at
 * every five minutes.
 */
int app_metrics_text(struct app_metrics *metrics, const struct str **ret_text, struct error *err);

/* Appends the same as a list of OTLP's metrics. IS_LAST: of the daemon, which is ending, what it said before. */
int app_metrics_otlp(struct app_metrics *metrics, bool is_last, struct str *out, struct error *err);

#endif
