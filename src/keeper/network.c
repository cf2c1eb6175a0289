/* What the gateway of a named sandbox tells, passed on to whoever runs a command there. */
#include "keeper/parts.h"
#include "net/report.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#define REPORTS_PER_STEP 64
#define FLUSH_MS 100

static void tell(const struct client *client, const struct net_denial *denial)
{
	struct attach_message message = { .kind = ATTACH_DENIED };
	struct attach_denied *denied = &message.denied;

	if (!client)
		return;
	message.id = client->id;
	(void)snprintf(denied->layer, sizeof(denied->layer), "%s", denial->layer);
	(void)snprintf(denied->what, sizeof(denied->what), "%.90s", denial->what);
	(void)snprintf(denied->rule, sizeof(denied->rule), "%.90s", denial->rule);
	(void)snprintf(denied->hint, sizeof(denied->hint), "%.90s", denial->hint);
	(void)attach_send(client->fd, &message, NULL, 0);
}

static void lose(struct keeper *keeper, const struct net_report *report)
{
	struct error err;

	error_set(&err, ERROR_HOST, "the network's gateway is gone");
	if (!keeper->is_serving)
		clients_fail(keeper, report ? &report->error : &err);
	keeper->is_over = true;
}

void network_hear(struct keeper *keeper)
{
	struct net_report report;

	for (int i = 0; i < REPORTS_PER_STEP; i++) {
		int got = net_report_receive(keeper->launch.gateway_fd, &report);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0 || report.kind == NET_REPORT_FAILED) {
			lose(keeper, got > 0 ? &report : NULL);
			return;
		}
		if (report.kind == NET_REPORT_DENIAL)
			tell(client_newest(keeper), &report.denial);
	}
}

void network_flush(struct keeper *keeper, const struct client *client)
{
	struct pollfd ready = { .fd = keeper->launch.gateway_fd, .events = POLLIN };
	struct net_report report;

	if (ready.fd < 0 || net_report_ask(ready.fd) < 0)
		return;
	while (poll(&ready, 1, FLUSH_MS) == 1 && net_report_receive(ready.fd, &report) > 0) {
		if (report.kind != NET_REPORT_DENIAL)
			return;
		tell(client, &report.denial);
	}
}
