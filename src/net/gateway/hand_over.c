/* SPDX-License-Identifier: Apache-2.0 */
/* Connections for hosts that get a secret, or whose requests in TLS are judged: dialled here, then handed over to aisbx-gateway (tls_gateway.h). */
#include "net/gateway/connection.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "net/gateway/tls_gateway.h"
#include "net/rule/inject.h"
#include "net/rule/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct inject_place {
	char host[NET_NAME_SIZE];
	uint16_t port;
	bool adds_secret;
	bool is_plain; /* the secret goes by plain HTTP as well */
};

static int add_injected(struct gateway *gateway, const struct strv *words, struct error *err)
{
	for (size_t i = 0; i < words->count; i++) {
		struct inject_place *place = &gateway->places[gateway->place_count];
		struct inject inject;

		if (words->items[i][0] != INJECT_MARK)
			continue;
		if (inject_parse(words->items[i] + 1, &inject, err) < 0)
			return -1;
		*place = (struct inject_place){ .port = inject.port,
						.adds_secret = true,
						.is_plain = inject.is_plain };
		memcpy(place->host, inject.host, sizeof(inject.host));
		gateway->place_count++;
	}
	return 0;
}

int hand_over_open(struct gateway *gateway, struct error *err)
{
	const struct gateway_options *options = &gateway->options;
	owned(strv_done) struct strv hosts = STRV_INIT;

	gateway->tls_gateway =
		(struct source){ .kind = SOURCE_TLS_GATEWAY, .fd = options->tls_gateway_fd };
	judge_tls_hosts(options->allow, options->deny, &hosts);
	gateway->places =
		xcalloc(options->inject->count + hosts.count + 1, sizeof(*gateway->places));
	if (add_injected(gateway, options->inject, err) < 0)
		return -1;
	for (size_t i = 0; i < hosts.count; i++) {
		struct inject_place *place = &gateway->places[gateway->place_count++];

		place->port = NET_TLS_PORT;
		(void)snprintf(place->host, sizeof(place->host), "%s", hosts.items[i]);
	}
	return gateway->place_count > 0 && source_watch(gateway, &gateway->tls_gateway, EPOLLIN) < 0
		       ? error_errno(err, ERROR_HOST, "network: epoll")
		       : 0;
}

bool hand_over_is_due(const struct gateway *gateway, const char *name, struct net_port port)
{
	for (size_t i = 0; name && !port.is_udp && i < gateway->place_count; i++) {
		if (gateway->places[i].port == port.number &&
		    strcmp(gateway->places[i].host, name) == 0)
			return true;
	}
	return false;
}

bool hand_over_adds_secret(const struct gateway *gateway, const char *name, struct net_port port)
{
	for (size_t i = 0; name && !port.is_udp && i < gateway->place_count; i++) {
		if (gateway->places[i].adds_secret && gateway->places[i].port == port.number &&
		    strcmp(gateway->places[i].host, name) == 0)
			return true;
	}
	return false;
}

bool hand_over_takes_plain(const struct gateway *gateway, const char *name, struct net_port port)
{
	for (size_t i = 0; i < gateway->place_count; i++) {
		if (gateway->places[i].is_plain && gateway->places[i].port == port.number &&
		    strcmp(gateway->places[i].host, name) == 0)
			return true;
	}
	return false;
}

bool hand_over_knows_port(const struct gateway *gateway, struct net_port port)
{
	for (size_t i = 0; !port.is_udp && i < gateway->place_count; i++) {
		if (gateway->places[i].port == port.number)
			return true;
	}
	return false;
}

bool hand_over_may_be_due(const struct gateway *gateway, const struct connection *connection)
{
	const char *name;
	size_t at = 0;

	if (!hand_over_knows_port(gateway, connection->port))
		return false;
	while ((name = pins_next(&gateway->pins, &connection->address, gateway->now_ns, &at))) {
		if (hand_over_is_due(gateway, name, connection->port))
			return true;
	}
	return hand_over_is_due(gateway, connection->name, connection->port);
}

void hand_over_mark(struct connection *connection, const char *name, bool is_tls)
{
	connection_is_for(connection, name);
	connection->is_tls = is_tls;
	gate_limit(connection, GATE_TLS_GATEWAY);
}

void hand_over(struct gateway *gateway, struct connection *connection)
{
	const int fds[] = { connection->inner.fd, connection->outer.fd };
	const struct refusal refusal = { .verb = "connect",
					 .name = connection->name,
					 .address = &connection->address,
					 .port = connection->port };
	struct tls_gateway_order order = { .kind = TLS_GATEWAY_CONNECTION,
					   .port = connection->port.number,
					   .is_tls = connection->is_tls,
					   .address = connection->address };
	bool is_sent;

	/* The second wall: a secret goes to no address but those that its host's name was answered with. */
	if (!decide_name(gateway, &connection->address, connection->port, connection->name)) {
		report_refused(gateway, &refusal);
		connection_end(gateway, connection, true);
		return;
	}
	(void)snprintf(order.name, sizeof(order.name), "%s", connection->name);
	is_sent = fd_send(gateway->tls_gateway.fd, &order, sizeof(order), fds, 2) == 0;
	if (!is_sent)
		report_failed(gateway, &refusal, "aisbx-gateway does not take it");
	connection_end(gateway, connection, !is_sent);
}

void hand_over_read(struct gateway *gateway)
{
	struct tls_gateway_counts counts;
	ssize_t got;

	while ((got = recv(gateway->tls_gateway.fd, &counts, sizeof(counts), MSG_DONTWAIT)) ==
	       (ssize_t)sizeof(counts)) {
		gateway->counts.sent_bytes += counts.sent_bytes;
		gateway->counts.received_bytes += counts.received_bytes;
	}
	if (got == 0)
		source_close(gateway, &gateway->tls_gateway);
}

void hand_over_rule(struct gateway *gateway, const struct rule_change *change)
{
	struct tls_gateway_order order = { .kind = TLS_GATEWAY_RULE,
					   .is_deny = change->is_deny,
					   .is_removal = change->is_removal };

	(void)snprintf(order.rule, sizeof(order.rule), "%s", change->rule);
	if (gateway->place_count > 0)
		(void)fd_send(gateway->tls_gateway.fd, &order, sizeof(order), NULL, 0);
}
