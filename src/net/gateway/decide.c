/* SPDX-License-Identifier: Apache-2.0 */
/* May this address and port be reached: by itself, or by a name it was an answer to. */
#include "net/gateway/gateway_parts.h"

#include "net/rule/own_address.h"

#include <string.h>

const struct net_address *host_address(void)
{
	/* Of the range for benchmarks, which no host on the internet has and names may not lead to. */
	static const struct net_address address = { false, { 198, 18, 0, 1 } };

	return &address;
}

static bool is_host(const struct net_address *address)
{
	return net_address_equal(address, host_address());
}

static const struct net_address loopbacks[] = { { false, { 127, 0, 0, 1 } },
						{ true, { [15] = 1 } } };

void decide_pin_localhost(struct gateway *gateway)
{
	for (size_t i = 0; i < 2; i++)
		(void)pins_add(&gateway->pins, &loopbacks[i], NET_LOCALHOST, UINT64_MAX);
}

static bool is_localhost(const struct net_address *address)
{
	return net_address_equal(address, &loopbacks[0]) ||
	       net_address_equal(address, &loopbacks[1]);
}

/* The name a connection may stand for, and what is known against it. */
static void decide_by_names(struct gateway *gateway, const struct net_address *address,
			    struct net_port port, struct decision *decision)
{
	const char *name, *rule;
	size_t at = 0;

	while ((name = pins_next(&gateway->pins, address, gateway->now_ns, &at))) {
		enum net_answer answer = net_policy_name(gateway->policy, name, port, &rule);

		decision->name = name;
		if (answer == NET_ALLOWED) {
			decision->passes = true;
			decision->rule = NULL;
			return;
		}
		if (answer == NET_DENIED)
			decision->rule = rule;
	}
}

/* By way of a proxy: each address that the name is known here to lead to must be permitted as well. */
static void decide_proxied(struct gateway *gateway, struct net_port port, struct decision *decision)
{
	const struct net_address *known;
	const char *rule;
	size_t at = 0;

	if (port.is_udp) {
		decision->passes = false;
		decision->rule = "a proxy takes no datagrams; NO_PROXY exempts a host";
		return;
	}
	while ((known = pins_next_address(&gateway->pins, decision->name, gateway->now_ns, &at))) {
		if (net_policy_address(gateway->policy, known, port, &rule) == NET_DENIED) {
			decision->passes = false;
			decision->rule = rule;
			return;
		}
	}
}

void decide(struct gateway *gateway, const struct net_address *address, struct net_port port,
	    struct decision *ret_decision)
{
	const char *rule;
	enum net_answer answer = net_policy_address(gateway->policy, address, port, &rule);

	*ret_decision = (struct decision){ .dial = *address };
	if (is_host(address))
		ret_decision->dial = loopbacks[0];
	if (answer == NET_DENIED) {
		ret_decision->rule = rule;
		return;
	}
	decide_by_names(gateway, address, port, ret_decision);
	if (answer == NET_ALLOWED && !is_host(address)) {
		/* Where all that the address stands for is denied, so is the address. */
		bool is_denied = !ret_decision->passes && ret_decision->rule;

		*ret_decision = (struct decision){ .dial = *address,
						   .name = is_denied ? ret_decision->name : NULL,
						   .rule = is_denied ? ret_decision->rule : NULL,
						   .passes = !is_denied };
		return;
	}
	/* Clients try ::1 first; servers of the host may have 127.0.0.1 alone, and no client asks twice. */
	if (is_localhost(address)) {
		ret_decision->dial = loopbacks[0];
		return;
	}
	ret_decision->by_name = ret_decision->passes && !is_host(address);
	/* Addresses that stand for names at a proxy are given out by the stub alone. */
	if (ret_decision->by_name && proxy_made(address)) {
		decide_proxied(gateway, port, ret_decision);
		return;
	}
	/* The stub gives no such answer; this is the second wall. */
	if (ret_decision->by_name && net_address_special(address)) {
		ret_decision->passes = false;
		ret_decision->rule = "a name must not lead there";
	}
}

bool decide_name(struct gateway *gateway, const struct net_address *address, struct net_port port,
		 const char *name)
{
	const char *known, *rule;
	size_t at = 0;

	while ((known = pins_next(&gateway->pins, address, gateway->now_ns, &at))) {
		if (strcmp(known, name) == 0)
			return net_policy_name(gateway->policy, name, port, &rule) == NET_ALLOWED;
	}
	return false;
}

/* Ranges for documentation belong to no machine: one that has such an address is a test's small internet. */
static bool is_documentation(const struct net_address *address)
{
	static const struct {
		struct net_address network;
		unsigned bits;
	} ranges[] = {
		{ { false, { 192, 0, 2 } }, 24 },
		{ { false, { 198, 51, 100 } }, 24 },
		{ { false, { 203, 0, 113 } }, 24 },
		{ { true, { 0x20, 0x01, 0x0d, 0xb8 } }, 32 },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (net_address_within(address, &ranges[i].network, ranges[i].bits))
			return true;
	}
	return false;
}

/* Special ones pass only where a rule is about them; host.local leads to the loopback, which is one. */
static bool is_own(struct gateway *gateway, const struct net_address *address, struct net_port port)
{
	return !net_address_special(address) && !is_documentation(address) &&
	       !net_policy_names_address(gateway->policy, address, port) &&
	       own_address_is(gateway->routes_fd, address);
}

/* Takes the permission back where ADDRESS is the proxy's, or this machine's. */
static void decide_place(struct gateway *gateway, const struct net_address *address,
			 struct net_port port, struct decision *decision)
{
	if (proxy_is(&gateway->proxies, decision->name, address, port))
		decision->rule = PROXY_CLOSED;
	else if (is_own(gateway, address, port))
		decision->rule = "an address of this machine itself needs a rule for exactly that "
				 "address";
	else
		return;
	decision->passes = false;
}

void decide_own(struct gateway *gateway, struct net_port port, struct decision *decision)
{
	const struct net_address *known = &decision->dial;
	bool is_proxied = decision->by_name && proxy_made(known);
	size_t at = 0;

	while (decision->passes && known) {
		decide_place(gateway, known, port, decision);
		known = is_proxied ? pins_next_address(&gateway->pins, decision->name,
						       gateway->now_ns, &at)
				   : NULL;
	}
}
