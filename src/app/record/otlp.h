/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs as spans, sent to a collector by OTLP over HTTP in its JSON form. In the program with libraries.
 *
 * A run is a span with queue, plan, start, command and teardown below it. It belongs to the trace whose traceparent it was
 * started with; else to one of its trace id, or of its own. Ids are digests of the run's: what is sent twice is the same.
 */
#ifndef APP_OTLP_H
#define APP_OTLP_H

#include "history/history.h"

struct otlp;

/*
 * URL is the collector's, below which /v1/traces is; "env": as the OTEL_* variables of ENVIRON say. https, or http to the
 * loopback.
 */
int otlp_open(const char *url, const char *const *environ, struct otlp **ret_otlp,
	      struct error *err);
/* Cleanup for owned(otlp_release) struct otlp *o. */
void otlp_release(struct otlp **slot);

/* Sends the runs that ended among EVENTS (history_events). Fails when the collector has not taken them, after some attempts. */
int otlp_send(struct otlp *otlp, struct history *history, const struct value *events,
	      struct error *err);

#endif
