/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted, for programs that watch: of the record, of the store and of the daemon. In the program with libraries. */
#ifndef ENGINE_METRICS_H
#define ENGINE_METRICS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct engine_metrics;

int engine_metrics_open(struct engine_metrics **ret_metrics, struct error *err);
/* Cleanup for owned(engine_metrics_release) struct engine_metrics *m. */
void engine_metrics_release(struct engine_metrics **slot);

/*
 * All figures in Prometheus' text form. It is the same text within a second, and the room that the store takes is looked at
 * every five minutes.
 */
int engine_metrics_text(struct engine_metrics *metrics, const struct str **ret_text,
			struct error *err);

#endif
