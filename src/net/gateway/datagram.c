/* SPDX-License-Identifier: Apache-2.0 */
/* UDP through the gateway, where a rule permits it: one socket outside for each pair of peers inside. */
#include "base/core/error.h"
#include "base/core/own.h"
#include "net/gateway/lookup.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define FLOWS_MAX 256
#define FLOW_NS (120 * SECOND_NS)
#define PER_ROUND 32
#define DATAGRAM_MAX 65536

struct udp_flow {
	struct source source;
	struct udp_flow *next;
	struct origin origin; /* the peer inside, and the address it sent to */
	uint16_t port;
	uint64_t active_ns;
};

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(struct in_pktinfo))];
};

static bool read_local(struct msghdr *message, struct net_address *ret_local)
{
	struct sockaddr_storage local = { 0 };

	for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
		struct in6_pktinfo v6;
		struct in_pktinfo v4;

		if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
			memcpy(&v6, CMSG_DATA(at), sizeof(v6));
			local.ss_family = AF_INET6;
			((struct sockaddr_in6 *)&local)->sin6_addr = v6.ipi6_addr;
		} else if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
			memcpy(&v4, CMSG_DATA(at), sizeof(v4));
			local.ss_family = AF_INET;
			((struct sockaddr_in *)&local)->sin_addr = v4.ipi_addr;
		}
	}
	return net_address_from(&local, ret_local, NULL);
}

ssize_t datagram_receive(int fd, void *buffer, size_t size, struct origin *ret_origin)
{
	union control control;
	struct iovec part = { buffer, size };
	struct msghdr message = { .msg_name = &ret_origin->peer,
				  .msg_namelen = sizeof(ret_origin->peer),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memset(ret_origin, 0, sizeof(*ret_origin));
	ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);

	if (got < 0)
		return -1;
	ret_origin->udp_fd = fd;
	ret_origin->peer_len = message.msg_namelen;
	return read_local(&message, &ret_origin->local) ? got : -1;
}

static void fill_source(const struct origin *origin, struct msghdr *message, union control *control)
{
	struct in6_pktinfo v6 = { 0 };
	struct in_pktinfo v4 = { 0 };
	bool is_v6 = origin->peer.ss_family == AF_INET6;

	memset(control, 0, sizeof(*control));
	message->msg_control = control;
	message->msg_controllen = is_v6 ? CMSG_SPACE(sizeof(v6)) : CMSG_SPACE(sizeof(v4));
	control->header.cmsg_level = is_v6 ? IPPROTO_IPV6 : IPPROTO_IP;
	control->header.cmsg_type = is_v6 ? IPV6_PKTINFO : IP_PKTINFO;
	control->header.cmsg_len = is_v6 ? CMSG_LEN(sizeof(v6)) : CMSG_LEN(sizeof(v4));
	if (!is_v6) {
		memcpy(&v4.ipi_spec_dst, origin->local.bytes, 4);
		memcpy(CMSG_DATA(&control->header), &v4, sizeof(v4));
		return;
	}
	if (origin->local.is_v6) {
		memcpy(&v6.ipi6_addr, origin->local.bytes, 16);
	} else {
		v6.ipi6_addr.s6_addr[10] = v6.ipi6_addr.s6_addr[11] = 0xff;
		memcpy(v6.ipi6_addr.s6_addr + 12, origin->local.bytes, 4);
	}
	memcpy(CMSG_DATA(&control->header), &v6, sizeof(v6));
}

void datagram_send(const struct origin *origin, const void *bytes, size_t len)
{
	union control control;
	struct sockaddr_storage peer = origin->peer;
	/* The kernel reads it only. */
	struct iovec part = { (void *)(uintptr_t)bytes, len };
	struct msghdr message = { .msg_name = &peer,
				  .msg_namelen = origin->peer_len,
				  .msg_iov = &part,
				  .msg_iovlen = 1 };

	fill_source(origin, &message, &control);
	(void)sendmsg(origin->udp_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static struct udp_flow *find(struct gateway *gateway, const struct origin *origin, uint16_t port)
{
	for (struct udp_flow *flow = gateway->flows; flow; flow = flow->next) {
		if (flow->source.fd >= 0 && flow->port == port &&
		    flow->origin.peer_len == origin->peer_len &&
		    memcmp(&flow->origin.peer, &origin->peer, origin->peer_len) == 0 &&
		    net_address_equal(&flow->origin.local, &origin->local))
			return flow;
	}
	return NULL;
}

static struct udp_flow *open_flow(struct gateway *gateway, const struct origin *origin,
				  uint16_t port, const struct net_address *dial)
{
	struct sockaddr_storage to;
	socklen_t len = net_address_to(dial, port, &to);
	owned(fd_close) int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct udp_flow *flow;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, len) < 0)
		return NULL;
	flow = xcalloc(1, sizeof(*flow));
	flow->source =
		(struct source){ .kind = SOURCE_UDP_FLOW, .fd = fd_take(&fd), .owner = flow };
	flow->origin = *origin;
	flow->port = port;
	flow->next = gateway->flows;
	gateway->flows = flow;
	gateway->flow_count++;
	gateway->counts.connections++;
	(void)source_watch(gateway, &flow->source, EPOLLIN);
	return flow;
}

/* Each datagram is decided anew: rules and answers may have changed. */
static struct udp_flow *flow_of(struct gateway *gateway, const struct origin *origin, uint16_t port)
{
	struct net_port where = { true, port };
	struct refusal refusal = { .verb = "send", .address = &origin->local, .port = where };
	struct decision decision;
	struct udp_flow *flow;

	decide(gateway, &origin->local, where, &decision);
	refusal.name = decision.name;
	refusal.rule = decision.rule;
	if (!decision.passes) {
		report_refused(gateway, &refusal);
		return NULL;
	}
	flow = find(gateway, origin, port);
	if (flow)
		return flow;
	if (gateway->flow_count >= FLOWS_MAX) {
		refusal.rule = "too many peers at a time";
		report_refused(gateway, &refusal);
		return NULL;
	}
	decide_own(gateway, where, &decision);
	if (!decision.passes) {
		refusal.rule = decision.rule;
		report_refused(gateway, &refusal);
		return NULL;
	}
	flow = open_flow(gateway, origin, port, &decision.dial);
	if (!flow)
		report_failed(gateway, &refusal, error_words(errno));
	return flow;
}

void datagram_inner(struct gateway *gateway, struct source *port)
{
	char bytes[DATAGRAM_MAX];

	for (int i = 0; i < PER_ROUND; i++) {
		struct origin origin;
		ssize_t len = datagram_receive(port->fd, bytes, sizeof(bytes), &origin);
		struct udp_flow *flow;

		if (len < 0)
			return;
		flow = flow_of(gateway, &origin, port->port);
		if (!flow)
			continue;
		flow->active_ns = gateway->now_ns;
		if (send(flow->source.fd, bytes, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			gateway->counts.sent_bytes += (uint64_t)len;
	}
}

void datagram_outer(struct gateway *gateway, struct udp_flow *flow)
{
	char bytes[DATAGRAM_MAX];

	for (int i = 0; i < PER_ROUND; i++) {
		ssize_t len = recv(flow->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (len < 0)
			return;
		flow->active_ns = gateway->now_ns;
		gateway->counts.received_bytes += (uint64_t)len;
		datagram_send(&flow->origin, bytes, (size_t)len);
	}
}

void datagram_recheck(struct gateway *gateway, const char *rule)
{
	for (struct udp_flow *flow = gateway->flows; flow; flow = flow->next) {
		struct refusal refusal = { .verb = "stay connected to",
					   .address = &flow->origin.local,
					   .port = { true, flow->port } };
		struct decision decision;

		decide(gateway, &flow->origin.local, refusal.port, &decision);
		if (flow->source.fd < 0 || decision.passes)
			continue;
		refusal.name = decision.name;
		refusal.rule = decision.rule ? decision.rule : rule;
		report_refused(gateway, &refusal);
		source_close(gateway, &flow->source);
	}
}

void datagram_expire(struct gateway *gateway)
{
	struct udp_flow **at = &gateway->flows;

	while (*at) {
		struct udp_flow *flow = *at;

		if (flow->source.fd >= 0 && gateway->now_ns - flow->active_ns < FLOW_NS) {
			at = &flow->next;
			continue;
		}
		*at = flow->next;
		source_close(gateway, &flow->source);
		free(flow);
		gateway->flow_count--;
	}
}
