/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway of a named sandbox: its reports are passed on to the client whose command runs there, its rules can be changed. */
#include "base/fd.h"
#include "base/own.h"
#include "supervise/keeper/parts.h"
#include "net/report.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define REPORTS_PER_STEP 64
#define FLUSH_MS 100
#define ORDER_MS 2000
#define NAMES_PORT 53

static void tell(struct keeper *keeper, struct client *client, const struct net_denial *denial)
{
	struct attach_denied denied = { .time_ms = denial->time_ms };

	(void)snprintf(denied.layer, sizeof(denied.layer), "%s", denial->layer);
	(void)snprintf(denied.what, sizeof(denied.what), "%.90s", denial->what);
	(void)snprintf(denied.rule, sizeof(denied.rule), "%.90s", denial->rule);
	/* Half a name is another name. */
	if (strlen(denial->hint) < sizeof(denied.hint))
		(void)snprintf(denied.hint, sizeof(denied.hint), "%.95s", denial->hint);
	keeper->denied[keeper->denied_count++ % DENIED_KEPT] = denied;
	if (client) {
		if (net_denial_settles(denial, client->unheard_address))
			client->unheard.what[0] = '\0';
		client_deny(client, &denied);
	}
}

static bool has_network(const struct keeper *keeper)
{
	return keeper->options->spec->net == NET_ALLOW;
}

bool network_is_denied(const struct keeper *keeper, const struct notify_event *event)
{
	return !has_network(keeper) &&
	       !(keeper->launch.hears_names && event->peer.port == NAMES_PORT);
}

void network_refuse_names(struct keeper *keeper)
{
	struct error ignored;

	for (size_t i = 0; i < 2; i++)
		(void)epoll_ctl(keeper->epoll_fd, EPOLL_CTL_DEL, keeper->launch.names_fds[i], NULL);
	if (launch_refuse_names(&keeper->launch, keeper->options->spec, &ignored) == 0)
		(void)fd_watch(keeper->epoll_fd, keeper->launch.gateway_fd);
}

static void lose(struct keeper *keeper, const struct net_report *report)
{
	struct error err;

	/* One that only refuses names is not missed. */
	if (!has_network(keeper)) {
		(void)epoll_ctl(keeper->epoll_fd, EPOLL_CTL_DEL, keeper->launch.gateway_fd, NULL);
		fd_close(&keeper->launch.gateway_fd);
		keeper->launch.hears_names = false;
		return;
	}
	error_set(&err, ERROR_HOST, "the network's gateway is gone");
	if (!keeper->is_serving)
		clients_fail(keeper, report ? &report->error : &err);
	keeper->is_over = true;
}

/* The one that waits for it, perhaps behind its command's end; else the newest. */
static struct client *client_for(struct keeper *keeper, const struct net_denial *denial)
{
	for (size_t i = 0; i < keeper->client_count; i++) {
		struct client *client = &keeper->clients[i];

		if (client->unheard.what[0] && net_denial_settles(denial, client->unheard_address))
			return client;
	}
	return client_newest(keeper);
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
			tell(keeper, client_for(keeper, &report.denial), &report.denial);
	}
}

struct listener {
	struct keeper *keeper;
	struct client *client;
};

static void take(struct net_denial *denial, void *cookie)
{
	const struct listener *listener = cookie;

	tell(listener->keeper, listener->client, denial);
}

/* Flushes the gateway and takes its reports up to the answer. Whether it answered in time. */
static bool ask(struct keeper *keeper, struct client *client, int patience_ms,
		struct net_counts *ret_counts)
{
	struct listener listener = { keeper, client };

	return launch_rules_await(&keeper->launch, patience_ms, take, &listener, ret_counts);
}

/* A command may end before the loop gets to what it asked. Whether the refuser of names was started for that. */
static bool refuse_waiting(struct keeper *keeper)
{
	struct pollfd waiting[2];

	for (size_t i = 0; i < 2; i++)
		waiting[i] = (struct pollfd){ keeper->launch.names_fds[i], POLLIN, 0 };
	if (keeper->launch.names_fds[0] < 0 || poll(waiting, 2, 0) <= 0)
		return false;
	network_refuse_names(keeper);
	return true;
}

void network_flush(struct keeper *keeper, struct client *client)
{
	/* Of a command that still runs, what was left may just be on its way. */
	bool has_unheard = !client->is_active && client->unheard.what[0];
	bool must_wait = refuse_waiting(keeper) || has_unheard;
	struct net_counts ignored;

	if (!ask(keeper, client, must_wait ? ORDER_MS : FLUSH_MS, &ignored) && has_unheard &&
	    client->unheard.what[0])
		client_deny(client, &client->unheard);
	if (has_unheard)
		client->unheard.what[0] = '\0';
}

void network_tell(struct keeper *keeper, const struct client *client)
{
	struct attach_message message = { .kind = ATTACH_NETWORK, .id = client->id };
	struct attach_message denied = { .kind = ATTACH_DENIED, .id = client->id };
	struct net_counts counts = { 0 };
	size_t first;

	(void)ask(keeper, client_newest(keeper), ORDER_MS, &counts);
	if (launch_rules_tell(&keeper->rules, keeper->options->spec, client->fd, client->id) < 0)
		return;
	first = keeper->denied_count > DENIED_KEPT ? keeper->denied_count - DENIED_KEPT : 0;
	for (size_t i = first; i < keeper->denied_count; i++) {
		denied.denied = keeper->denied[i % DENIED_KEPT];
		(void)attach_send(client->fd, &denied, NULL, 0);
	}
	message.network = (struct attach_network){ .has_gateway = has_network(keeper),
						   .connections = counts.connections,
						   .sent_bytes = counts.sent_bytes,
						   .received_bytes = counts.received_bytes };
	(void)attach_send(client->fd, &message, NULL, 0);
}

static int change(struct keeper *keeper, struct client *client, const struct attach_rule *rule,
		  struct error *err)
{
	struct net_counts ignored;

	if (launch_rules_change(&keeper->rules, &keeper->launch, keeper->options->spec, rule, err) <
	    0)
		return -1;
	/* Its answer comes behind the change. */
	if (!ask(keeper, client, ORDER_MS, &ignored))
		return error_set(err, ERROR_HOST, "the network's gateway does not answer");
	return 0;
}

void network_change(struct keeper *keeper, struct client *client, const struct attach_rule *rule)
{
	const struct attach_message done = { .kind = ATTACH_DONE, .id = client->id };
	struct error err;

	if (change(keeper, client, rule, &err) < 0)
		client_fail(client, &err);
	else
		(void)attach_send(client->fd, &done, NULL, 0);
}
