/* SPDX-License-Identifier: Apache-2.0 */
/* Packets to ports without a server: the kernel refuses them by itself, here they are only reported. */
#include "net/gateway/gateway_parts.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define PER_ROUND 256
#define V4_HEADER 20
#define V6_HEADER 40

struct seen {
	struct net_address to;
	struct net_port port;
	uint16_t from_port;
};

static uint16_t u16_at(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* The packet starts with its IP header; the filter let only TCP and UDP pass. */
static bool parse(const uint8_t *bytes, size_t len, bool is_v6, struct seen *ret_seen)
{
	size_t header = V6_HEADER;
	uint8_t protocol;

	memset(ret_seen, 0, sizeof(*ret_seen));
	if (len < V4_HEADER)
		return false;
	if (!is_v6)
		header = (bytes[0] & 0xfu) * 4;
	if (header < V4_HEADER || len < header + 4)
		return false;
	protocol = bytes[is_v6 ? 6 : 9];
	ret_seen->to.is_v6 = is_v6;
	memcpy(ret_seen->to.bytes, bytes + (is_v6 ? 24 : 16), is_v6 ? 16 : 4);
	ret_seen->port.is_udp = protocol == IPPROTO_UDP;
	ret_seen->from_port = u16_at(bytes + header);
	ret_seen->port.number = u16_at(bytes + header + 2);
	return true;
}

static bool is_served(const struct gateway *gateway, bool is_udp, uint16_t port)
{
	return gateway->served[is_udp][port / 8] & 1u << port % 8;
}

static void report_seen(struct gateway *gateway, const struct seen *seen)
{
	const struct net_special *special = net_address_special(&seen->to);
	struct decision decision;
	struct refusal refusal = { .verb = seen->port.is_udp ? "send" : "connect",
				   .address = &seen->to,
				   .port = seen->port };

	/* The sandbox's own loopback, and multicast. */
	if (special &&
	    (strcmp(special->what, "loopback") == 0 || strcmp(special->what, "multicast") == 0))
		return;
	/* What the gateway serves it reports itself; its own answers come from such a port. */
	if (is_served(gateway, seen->port.is_udp, seen->port.number) ||
	    (seen->port.is_udp && is_served(gateway, true, seen->from_port)))
		return;
	decide(gateway, &seen->to, seen->port, &decision);
	refusal.name = decision.name;
	refusal.rule = decision.rule;
	report_refused(gateway, &refusal);
}

void seen_read(struct gateway *gateway, struct source *source)
{
	uint8_t bytes[128];

	for (int i = 0; i < PER_ROUND; i++) {
		ssize_t len = recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		struct seen seen;

		if (len < 0)
			return;
		if (parse(bytes, (size_t)len, source->is_v6, &seen))
			report_seen(gateway, &seen);
	}
}
