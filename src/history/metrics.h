/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures over the record: counts and histograms, read on from where the last look ended.
 *
 * Labels hold words of ours alone (statuses, layers, kinds of limits); any other word is counted as "other".
 */
#ifndef HISTORY_METRICS_H
#define HISTORY_METRICS_H

#include "history/figure.h"
#include "history/history.h"

struct metrics;

struct metrics *metrics_new(void);
/* Cleanup for owned(metrics_release) struct metrics *m. */
void metrics_release(struct metrics **slot);

/* Counts what came since the last time. */
int metrics_read(struct metrics *metrics, struct history *history, struct error *err);
void metrics_report(const struct metrics *metrics, struct figure_report *report);

#endif
