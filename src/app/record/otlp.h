/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collector of OpenTelemetry is sent, by OTLP over HTTP in its JSON form: runs as spans, figures as metrics. In the
 * program with libraries.
 *
 * A run is a span with queue, plan, start, command and teardown below it. It belongs to the trace whose traceparent it was
 * started with; else to one of its trace id, or of its own. Ids are digests of the run's: what is sent twice is the same.
 */
#ifndef APP_OTLP_H
#define APP_OTLP_H

#include "history/history.h"

struct otlp;

enum otlp_signal { OTLP_TRACES, OTLP_METRICS };

/*
 * URL is the collector's, below which /v1/traces and /v1/metrics are; "env": as the OTEL_* variables of ENVIRON say. https, or
 * http to the loopback.
 */
int otlp_open(enum otlp_signal signal, const char *url, const char *const *environ,
	      struct otlp **ret_otlp, struct error *err);
/* Cleanup for owned(otlp_release) struct otlp *o. */
void otlp_release(struct otlp **slot);

/*
 * Whether what the daemon has for SIGNAL is to be sent: not where OTEL_TRACES_EXPORTER or OTEL_METRICS_EXPORTER leaves otlp out, nor
 * to "env" where the variables have an address for the other signal alone.
 */
bool otlp_is_wanted(enum otlp_signal signal, const char *url, const char *const *environ);

/* An attempt ends when something can be read from STOP_FD (-1: none), and takes LIMIT_MS at most (0: as the variables say). */
void otlp_stop_at(struct otlp *otlp, int stop_fd, uint64_t limit_ms);

#define OTLP_WHY_SIZE 48

/* One attempt with LIST, a JSON list of what the signal has. 0; 1 with a reason when the collector did not take it; -1. */
int otlp_post(const struct otlp *otlp, const struct str *list, char ret_why[static OTLP_WHY_SIZE],
	      struct error *err);

/* Sends the runs that ended among EVENTS (history_events). Fails when the collector has not taken them, after some attempts. */
int otlp_send_runs(struct otlp *otlp, struct history *history, const struct value *events,
		   struct error *err);

#endif
