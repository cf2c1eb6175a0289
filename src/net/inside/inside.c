/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's side of the gateway: routes, listeners, observers; made inside, handed outside. */
#include "net/inside/inside.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "net/inside/redirect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK_INDEX 1 /* in every new network */
#define BACKLOG 1024
#define STUB_PORT 53

struct batch {
	int gateway_fd;
	struct inside_socket what[INSIDE_BATCH];
	int fds[INSIDE_BATCH];
	size_t count;
};

static int flush(struct batch *batch, struct error *err)
{
	int status = 0;

	if (batch->count > 0 &&
	    fd_send(batch->gateway_fd, batch->what, batch->count * sizeof(batch->what[0]),
		    batch->fds, batch->count) < 0)
		status = error_errno(err, ERROR_HOST, "network: cannot reach the gateway");
	while (batch->count > 0)
		close(batch->fds[--batch->count]);
	return status;
}

/* Takes the socket, whatever happens. */
static int send_socket(struct batch *batch, int fd, struct inside_socket what, struct error *err)
{
	batch->what[batch->count] = what;
	batch->fds[batch->count++] = fd;
	return batch->count == INSIDE_BATCH ? flush(batch, err) : 0;
}

struct route_request {
	struct nlmsghdr header;
	struct rtmsg route;
	struct rtattr attribute;
	uint32_t index;
};

static struct route_request local_default(unsigned char family)
{
	return (struct route_request){
		.header = { .nlmsg_len = sizeof(struct route_request),
			    .nlmsg_type = RTM_NEWROUTE,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL,
			    .nlmsg_seq = family },
		.route = { .rtm_family = family,
			   .rtm_table = RT_TABLE_LOCAL,
			   .rtm_protocol = RTPROT_STATIC,
			   .rtm_scope = RT_SCOPE_HOST,
			   .rtm_type = RTN_LOCAL },
		.attribute = { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF },
		.index = LOOPBACK_INDEX,
	};
}

/*
 * "local default dev lo": whatever is dialled is here. The kernel adds both routes within send(), and without being asked
 * for an acknowledgement answers failures only.
 */
static int add_routes(void)
{
	owned(fd_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	const struct route_request both[] = { local_default(AF_INET), local_default(AF_INET6) };
	union {
		struct nlmsghdr header;
		char room[1024];
	} answer;
	const struct nlmsgerr *failure = NLMSG_DATA(&answer.header);

	if (fd < 0 || send(fd, both, sizeof(both), 0) < 0)
		return -1;
	while (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) > 0) {
		/* A kernel without IPv6, or with it switched off, reaches no host that way anyhow. */
		if (answer.header.nlmsg_type != NLMSG_ERROR || answer.header.nlmsg_seq == AF_INET6)
			continue;
		errno = -failure->error;
		return -1;
	}
	return 0;
}

/* One socket for both families; where there is no IPv6, for IPv4. */
static int open_any(int type, int *ret_fd, int *ret_family)
{
	int off = 0;

	*ret_family = AF_INET6;
	*ret_fd = socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret_fd >= 0)
		return setsockopt(*ret_fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	*ret_family = AF_INET;
	*ret_fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *ret_fd < 0 ? -1 : 0;
}

static int bind_any(int fd, int family, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (family == AF_INET)
		return bind(fd, (struct sockaddr *)&v4, sizeof(v4));
	return bind(fd, (struct sockaddr *)&v6, sizeof(v6));
}

int inside_open_port(bool is_udp, uint16_t port, int *ret_fd)
{
	owned(fd_close) int fd = -1;
	int family, on = 1;

	if (open_any(is_udp ? SOCK_DGRAM : SOCK_STREAM, &fd, &family) < 0 ||
	    bind_any(fd, family, port) < 0)
		return -1;
	if (!is_udp && listen(fd, BACKLOG) < 0)
		return -1;
	/* Where a datagram was meant to go is known by this only. */
	if (is_udp &&
	    setsockopt(fd, family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6,
		       family == AF_INET ? IP_PKTINFO : IPV6_RECVPKTINFO, &on, sizeof(on)) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int inside_watch_names(int ret_fds[static 2])
{
	owned(fd_close) int udp_fd = -1;

	if (add_routes() < 0 || inside_open_port(true, STUB_PORT, &udp_fd) < 0 ||
	    inside_open_port(false, STUB_PORT, &ret_fds[1]) < 0)
		return -1;
	ret_fds[0] = fd_take(&udp_fd);
	return 0;
}

static int send_port(struct batch *batch, struct inside_socket what, struct error *err)
{
	bool is_udp = what.kind == INSIDE_UDP || what.kind == INSIDE_DNS_UDP;
	int fd;

	if (inside_open_port(is_udp, what.port, &fd) < 0)
		return error_errno(err, ERROR_HOST, "network: no listener on port %u", what.port);
	return send_socket(batch, fd, what, err);
}

/* First packets of TCP connections, and all of UDP; those of the sandbox's own loopback are left out. */
static const struct sock_filter seen_v4[] = {
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 16),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 127, 9, 0),
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 8, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 6),
	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 4, 0),
	BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
	BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, 0),
	BPF_STMT(BPF_RET | BPF_K, 64),
};

static const struct sock_filter seen_v6[] = {
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 5, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 3),
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 40 + 13),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, 0),
	BPF_STMT(BPF_RET | BPF_K, 64),
};

static int open_observer(uint16_t protocol, const struct sock_filter *code, size_t count)
{
	/* The kernel reads it only. */
	struct sock_fprog program = { (unsigned short)count,
				      (struct sock_filter *)(uintptr_t)code };
	struct sockaddr_ll where = { .sll_family = AF_PACKET,
				     .sll_protocol = htons(protocol),
				     .sll_ifindex = LOOPBACK_INDEX };
	/* Bound to no protocol at first, so that nothing arrives before the filter is there. */
	owned(fd_close) int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
	    bind(fd, (struct sockaddr *)&where, sizeof(where)) < 0)
		return -1;
	return fd_take(&fd);
}

/* Without them (a kernel without packet sockets) the same is refused, but not reported. */
static int send_observers(struct batch *batch, struct error *err)
{
	int v4 = open_observer(ETH_P_IP, seen_v4, sizeof(seen_v4) / sizeof(seen_v4[0]));
	int v6 = open_observer(ETH_P_IPV6, seen_v6, sizeof(seen_v6) / sizeof(seen_v6[0]));

	if (v4 >= 0 &&
	    send_socket(batch, v4, (struct inside_socket){ INSIDE_SEEN_V4, 0 }, err) < 0) {
		fd_close(&v6);
		return -1;
	}
	if (v6 >= 0)
		return send_socket(batch, v6, (struct inside_socket){ INSIDE_SEEN_V6, 0 }, err);
	return 0;
}

static int send_ports(struct batch *batch, const struct net_policy *policy, bool is_udp,
		      struct error *err)
{
	uint16_t ports[NET_PORTS_MAX];
	size_t count = net_policy_ports(policy, is_udp, ports);

	for (size_t i = 0; i < count; i++) {
		struct inside_socket what = { is_udp ? INSIDE_UDP : INSIDE_TCP, ports[i] };

		if (send_port(batch, what, err) < 0)
			return -1;
	}
	return 0;
}

static int send_dials(struct batch *batch, struct error *err)
{
	for (int i = 0; i < INSIDE_DIALS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd < 0)
			return error_errno(err, ERROR_HOST, "network: socket");
		if (send_socket(batch, fd, (struct inside_socket){ INSIDE_DIAL, 0 }, err) < 0)
			return -1;
	}
	return 0;
}

static int send_redirect(struct batch *batch, const struct net_policy *policy, struct error *err)
{
	int fd;

	if (!net_policy_has_all(policy))
		return 0;
	if (redirect_open(&fd) < 0)
		return error_errno(err, ERROR_DENIED,
				   "network: this kernel does not redirect every port (nf_tables, "
				   "tproxy); use --allow HOST:PORT");
	return send_socket(batch, fd, (struct inside_socket){ INSIDE_TCP_ALL, 0 }, err);
}

static int send_all(struct batch *batch, const struct net_policy *policy, bool with_dials,
		    struct error *err)
{
	const struct inside_socket end = { INSIDE_END, 0 };

	if (send_port(batch, (struct inside_socket){ INSIDE_DNS_UDP, STUB_PORT }, err) < 0 ||
	    send_port(batch, (struct inside_socket){ INSIDE_DNS_TCP, STUB_PORT }, err) < 0 ||
	    send_ports(batch, policy, false, err) < 0 || send_ports(batch, policy, true, err) < 0 ||
	    send_redirect(batch, policy, err) < 0 || (with_dials && send_dials(batch, err) < 0) ||
	    send_observers(batch, err) < 0 || flush(batch, err) < 0)
		return -1;
	if (fd_send(batch->gateway_fd, &end, sizeof(end), NULL, 0) < 0)
		return error_errno(err, ERROR_HOST, "network: cannot reach the gateway");
	return 0;
}

int inside_set_up(const struct net_policy *policy, bool with_dials, int gateway_fd,
		  struct error *err)
{
	struct batch batch = { .gateway_fd = gateway_fd };
	int status;

	if (add_routes() < 0)
		return error_errno(err, ERROR_DENIED, "network: cannot route to the gateway");
	status = send_all(&batch, policy, with_dials, err);
	while (batch.count > 0)
		close(batch.fds[--batch.count]);
	return status;
}
