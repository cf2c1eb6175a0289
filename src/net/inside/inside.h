/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's side of the gateway: every address is the sandbox's own (AnyIP), and the ports that rules speak of, and
 * 53, have listeners. A socket stays in the network it was made in, so the gateway can serve them from outside.
 */
#ifndef NET_INSIDE_H
#define NET_INSIDE_H

#include "base/core/error.h"
#include "net/rule/policy.h"

enum inside_kind {
	INSIDE_TCP = 1, /* a listener of a permitted port */
	INSIDE_TCP_ALL, /* the listener of every port, see redirect.h */
	INSIDE_UDP,
	INSIDE_DNS_TCP, /* the stub's */
	INSIDE_DNS_UDP,
	INSIDE_SEEN_V4, /* packets to ports without a server: each is a denial to report */
	INSIDE_SEEN_V6,
	INSIDE_DIAL, /* an unconnected socket, to reach a published port with */
	INSIDE_END,  /* no socket: all were sent */
};

struct inside_socket {
	uint16_t kind, port;
};

/* One message carries that many at most. */
#define INSIDE_BATCH 16

/* How many connections to published ports there can be at a time. */
#define INSIDE_DIALS 32

/*
 * In the process that has just made its network: sets it up and sends the sockets to the gateway. WITH_DIALS: for
 * published ports. Needs the capabilities of the network's owner.
 */
int inside_set_up(const struct net_policy *policy, bool with_dials, int gateway_fd,
		  struct error *err);

/*
 * In a network that has no gateway: every address is its own, and two sockets, UDP and TCP, get what is asked of
 * nameservers. All connections are refused by the kernel. 0; -1 with errno when lookups cannot be received.
 */
int inside_watch_names(int ret_fds[static 2]);

/* A listener (TCP) or socket (UDP) of that port on every address of the network it is made in. 0, or -1 with errno. */
int inside_open_port(bool is_udp, uint16_t port, int *ret_fd);

#endif
