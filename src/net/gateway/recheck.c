/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and flows that are open when a rule changes: those that it takes the permission from are ended. */
#include "net/gateway/connection.h"

static bool is_lost(const struct gateway *gateway, const struct connection *connection,
		    const struct net_rule *rule, const char *name)
{
	const struct net_request request = { .name = name,
					     .address = &connection->address,
					     .port = connection->port };
	const char *ignored;

	return net_rule_is_about(rule, &request) &&
	       net_policy_name(gateway->policy, name, connection->port, &ignored) != NET_ALLOWED;
}

/* By way of a proxy: an address that the name is known here to lead to. */
static bool has_lost_behind(const struct gateway *gateway, const struct connection *connection,
			    const struct net_rule *rule)
{
	struct net_request request = { .port = connection->port };
	const char *ignored;
	size_t at = 0;

	while (connection->proxy &&
	       (request.address = pins_next_address(&gateway->pins, connection->name, 0, &at))) {
		if (net_rule_is_about(rule, &request) &&
		    net_policy_address(gateway->policy, request.address, connection->port,
				       &ignored) == NET_DENIED)
			return true;
	}
	return false;
}

/*
 * By what permitted it then, not by the pins of now, which may have run out. Where the client has not named its server,
 * each name of the address may be the one.
 */
static bool has_lost(const struct gateway *gateway, const struct connection *connection,
		     const struct net_rule *rule)
{
	const struct net_request request = { .address = &connection->address,
					     .port = connection->port };
	const char *name, *ignored;
	size_t at = 0;

	if (net_rule_is_about(rule, &request)) {
		enum net_answer answer = net_policy_address(gateway->policy, &connection->address,
							    connection->port, &ignored);

		if (answer == NET_DENIED ||
		    (answer == NET_SILENT && (!connection->name || connection->is_by_address)))
			return true;
	}
	if (!connection->name)
		return false;
	if (is_lost(gateway, connection, rule, connection->name) ||
	    has_lost_behind(gateway, connection, rule))
		return true;
	while (!connection->is_name_said &&
	       (name = pins_next(&gateway->pins, &connection->address, gateway->now_ns, &at))) {
		if (is_lost(gateway, connection, rule, name))
			return true;
	}
	return false;
}

/* What was passed unread, and from now on must be judged. What waits to be handed over will be. */
static bool escapes(const struct gateway *gateway, const struct connection *connection)
{
	if (connection->gate == GATE_HTTP || connection->gate == GATE_TLS_GATEWAY)
		return false;
	if (!connection->is_tls)
		return gate_judges_port(gateway, connection->port);
	return connection->name ? gate_judges_name(gateway, connection, connection->name)
				: gate_is_restricted(gateway, connection);
}

void recheck(struct gateway *gateway, const struct rule_change *change)
{
	bool narrows = change->is_deny != change->is_removal;
	struct connection *next;
	struct net_rule rule;
	struct error ignored;

	if (net_rule_parse(change->rule, &rule, &ignored) < 0)
		return;
	for (struct connection *at = gateway->connections; at; at = next) {
		const struct refusal refusal = {
			.verb = "stay connected to",
			.name = at->name,
			.address = &at->address,
			.port = at->port,
			.rule = narrows ? change->rule : "requests on this port are judged now"
		};

		next = at->next;
		if (at->is_published ||
		    !((narrows && has_lost(gateway, at, &rule)) || escapes(gateway, at)))
			continue;
		report_refused(gateway, &refusal);
		connection_end(gateway, at, true);
	}
	if (narrows)
		datagram_recheck(gateway, change->rule);
}
