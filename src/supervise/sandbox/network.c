/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway of a named sandbox: its reports are passed on to the client whose command runs there, its rules can be changed. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "supervise/sandbox/parts.h"
#include "net/gateway/report.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define REPORTS_PER_STEP 64
#define FLUSH_MS 100
#define ORDER_MS 2000
#define CHANGE_MS 10000
#define NAMES_PORT 53

static void send_denial(struct supervisor *supervisor, struct client *client,
			const struct net_denial *denial)
{
	struct attach_denied denied = { .time_ms = denial->time_ms };

	(void)snprintf(denied.layer, sizeof(denied.layer), "%s", denial->layer);
	(void)snprintf(denied.what, sizeof(denied.what), "%.90s", denial->what);
	(void)snprintf(denied.rule, sizeof(denied.rule), "%.90s", denial->rule);
	/* Half a name is another name. */
	if (strlen(denial->hint) < sizeof(denied.hint))
		(void)snprintf(denied.hint, sizeof(denied.hint), "%.95s", denial->hint);
	supervisor->denied[supervisor->denied_count++ % DENIED_KEPT] = denied;
	if (client) {
		if (net_denial_settles(denial, client->unreported_address))
			client->unreported.what[0] = '\0';
		client_deny(client, &denied);
	}
}

static bool has_network(const struct supervisor *supervisor)
{
	return supervisor->options->spec->net == NET_ALLOW;
}

bool network_is_denied(const struct supervisor *supervisor, const struct notify_event *event)
{
	return !has_network(supervisor) &&
	       !(supervisor->launch.reports_names && event->peer.port == NAMES_PORT);
}

void network_refuse_names(struct supervisor *supervisor)
{
	struct error ignored;

	for (size_t i = 0; i < 2; i++)
		(void)epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_DEL,
				supervisor->launch.names_fds[i], NULL);
	if (launch_refuse_names(&supervisor->launch, supervisor->options->spec, &ignored) == 0)
		(void)fd_watch(supervisor->epoll_fd, supervisor->launch.gateway_fd);
}

static void lose(struct supervisor *supervisor, const struct net_report *report)
{
	struct error err;

	/* One that only refuses names is not missed. */
	if (!has_network(supervisor)) {
		(void)epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_DEL, supervisor->launch.gateway_fd,
				NULL);
		fd_close(&supervisor->launch.gateway_fd);
		supervisor->launch.reports_names = false;
		return;
	}
	error_set(&err, ERROR_HOST, "the network's gateway is gone");
	if (!supervisor->is_serving)
		clients_fail(supervisor, report ? &report->error : &err);
	supervisor->is_over = true;
}

/* The one that waits for it, perhaps behind its command's end; else the newest. */
static struct client *client_for(struct supervisor *supervisor, const struct net_denial *denial)
{
	for (size_t i = 0; i < supervisor->client_count; i++) {
		struct client *client = &supervisor->clients[i];

		if (client->unreported.what[0] &&
		    net_denial_settles(denial, client->unreported_address))
			return client;
	}
	return client_newest(supervisor);
}

void network_handle(struct supervisor *supervisor)
{
	struct net_report report;

	for (int i = 0; i < REPORTS_PER_STEP; i++) {
		int got = net_report_receive(supervisor->launch.gateway_fd, &report);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0 || report.kind == NET_REPORT_FAILED) {
			lose(supervisor, got > 0 ? &report : NULL);
			return;
		}
		if (report.kind == NET_REPORT_DENIAL)
			send_denial(supervisor, client_for(supervisor, &report.denial),
				    &report.denial);
	}
}

struct listener {
	struct supervisor *supervisor;
	struct client *client;
};

static void take(struct net_denial *denial, void *cookie)
{
	const struct listener *listener = cookie;

	send_denial(listener->supervisor, listener->client, denial);
}

/* Flushes the gateway and takes its reports up to the answer. Whether it answered in time. */
static bool ask(struct supervisor *supervisor, struct client *client, int patience_ms,
		struct net_counts *ret_counts)
{
	struct listener listener = { supervisor, client };

	return launch_rules_await(&supervisor->launch, patience_ms, take, &listener, ret_counts);
}

/* A command may end before the loop gets to what it asked. Whether the refuser of names was started for that. */
static bool refuse_waiting(struct supervisor *supervisor)
{
	struct pollfd waiting[2];

	for (size_t i = 0; i < 2; i++)
		waiting[i] = (struct pollfd){ supervisor->launch.names_fds[i], POLLIN, 0 };
	if (supervisor->launch.names_fds[0] < 0 || poll(waiting, 2, 0) <= 0)
		return false;
	network_refuse_names(supervisor);
	return true;
}

void network_flush(struct supervisor *supervisor, struct client *client)
{
	/* Of a command that still runs, what was left may just be on its way. */
	bool has_unreported = !client->is_active && client->unreported.what[0];
	bool must_wait = refuse_waiting(supervisor) || has_unreported;
	struct net_counts ignored;

	if (!ask(supervisor, client, must_wait ? ORDER_MS : FLUSH_MS, &ignored) && has_unreported &&
	    client->unreported.what[0])
		client_deny(client, &client->unreported);
	if (has_unreported)
		client->unreported.what[0] = '\0';
}

void network_report(struct supervisor *supervisor, const struct client *client)
{
	struct attach_message message = { .kind = ATTACH_NETWORK, .id = client->id };
	struct attach_message denied = { .kind = ATTACH_DENIED, .id = client->id };
	struct net_counts counts = { 0 };
	size_t first;

	(void)ask(supervisor, client_newest(supervisor), ORDER_MS, &counts);
	if (launch_rules_send(&supervisor->rules, supervisor->options->spec, client->fd,
			      client->id) < 0)
		return;
	first = supervisor->denied_count > DENIED_KEPT ? supervisor->denied_count - DENIED_KEPT : 0;
	for (size_t i = first; i < supervisor->denied_count; i++) {
		denied.denied = supervisor->denied[i % DENIED_KEPT];
		(void)attach_send(client->fd, &denied, NULL, 0);
	}
	message.network = (struct attach_network){ .has_gateway = has_network(supervisor),
						   .connections = counts.connections,
						   .sent_bytes = counts.sent_bytes,
						   .received_bytes = counts.received_bytes };
	(void)attach_send(client->fd, &message, NULL, 0);
}

static int change(struct supervisor *supervisor, struct client *client,
		  const struct attach_rule *rule, struct error *err)
{
	struct net_counts ignored;

	if (launch_rules_change(&supervisor->rules, &supervisor->launch, supervisor->options->spec,
				rule, err) < 0)
		return -1;
	/* Its answer comes behind the change. */
	if (!ask(supervisor, client, CHANGE_MS, &ignored))
		return error_set(err, ERROR_HOST, "the network's gateway does not answer");
	return 0;
}

void network_change(struct supervisor *supervisor, struct client *client,
		    const struct attach_rule *rule)
{
	const struct attach_message done = { .kind = ATTACH_DONE, .id = client->id };
	struct error err;

	if (change(supervisor, client, rule, &err) < 0)
		client_fail(client, &err);
	else
		(void)attach_send(client->fd, &done, NULL, 0);
}
