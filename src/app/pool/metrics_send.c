/* SPDX-License-Identifier: Apache-2.0 */
/* Figures sent at intervals. Nothing is kept of a message that was not taken: memory and time are bounded, whatever answers. */
#include "app/pool/metrics_send.h"

#include "app/pool/metrics.h"
#include "base/core/env.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/process.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_MS 60000
#define EVERY_MIN_MS 1000
#define EVERY_MAX_MS (24 * 60 * 60 * 1000)

uint64_t app_metrics_interval(const char *const *environ)
{
	const char *text = env_given(environ, "OTEL_METRIC_EXPORT_INTERVAL");
	char *end = NULL;
	uint64_t ms = text ? strtoull(text, &end, 10) : 0;

	if (!text || *end || *text == '-' || ms == 0)
		return EVERY_MS;
	return ms < EVERY_MIN_MS ? EVERY_MIN_MS : ms > EVERY_MAX_MS ? EVERY_MAX_MS : ms;
}

/* METRICS is opened where it is not yet, and closed when the record cannot be read: it may have been mended by the next time. */
static int send(struct otlp *otlp, bool is_last, struct app_metrics **metrics, struct error *err)
{
	owned(str_done) struct str list = STR_INIT;
	char why[OTLP_WHY_SIZE];

	if (!*metrics && app_metrics_open(metrics, err) < 0)
		return -1;
	if (app_metrics_otlp(*metrics, is_last, &list, err) < 0) {
		app_metrics_release(metrics);
		return -1;
	}
	int got = otlp_post(otlp, &list, why, err);

	return got > 0 ? error_set(err, ERROR_HOST, "the collector did not take figures (%s)", why)
		       : got;
}

int app_metrics_send(struct otlp *otlp, struct error *err)
{
	owned(app_metrics_release) struct app_metrics *metrics = NULL;

	return send(otlp, false, &metrics, err);
}

int app_metrics_send_on(const struct metrics_sender *sender, struct error *err)
{
	owned(app_metrics_release) struct app_metrics *metrics = NULL;
	owned(fd_close) int signal_fd = process_watch_end(NULL);
	bool is_last = false;
	char said[sizeof(err->text)] = "";

	if (signal_fd < 0)
		return error_errno(err, ERROR_HOST, "signalfd");
	otlp_stop_at(sender->otlp, signal_fd, 0);
	while (!is_last) {
		struct pollfd end = { .fd = signal_fd, .events = POLLIN };
		struct error lost = { .code = ERROR_NONE };

		is_last = poll(&end, 1, (int)sender->every_ms) != 0;
		if (is_last)
			otlp_stop_at(sender->otlp, -1, METRICS_LAST_MS);
		if (send(sender->otlp, is_last, &metrics, &lost) == 0) {
			said[0] = '\0';
		} else if (strcmp(said, lost.text) != 0) {
			memcpy(said, lost.text, sizeof(said));
			sender->note(sender->cookie, said);
		}
	}
	return 0;
}
