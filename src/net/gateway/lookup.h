/* SPDX-License-Identifier: Apache-2.0 */
/* Our own questions to the host's nameservers, and the clients they are asked for. Private to net. */
#ifndef NET_LOOKUP_H
#define NET_LOOKUP_H

#include "net/gateway/gateway_parts.h"

/* The client of an answer: a program inside, by UDP or TCP. */
struct origin {
	int udp_fd; /* or -1: then */
	struct dns_client *client;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	struct net_address local;
};

struct lookup {
	struct source source;
	struct lookup *next;
	struct dns_query asked;	   /* by the program */
	struct dns_query question; /* ours */
	struct origin origin;
	struct proxy *proxy; /* whose own address is wanted; or NULL */
	size_t tries;
	bool is_stream;	 /* the server is asked again, by TCP */
	bool has_asked;	 /* and knows by now what */
	uint8_t *stream; /* what it has sent so far, with the length in front */
	size_t stream_have;
	struct dns_answer cut; /* its answer by UDP; no addresses: none yet */
	uint64_t deadline_ns;
	bool is_done;
};

/* False when there are too many. */
bool lookup_start(struct gateway *gateway, const struct dns_query *asked,
		  const struct origin *origin, struct proxy *proxy);
/* Asks for another type of the same name, in place of being done. False when no server can be asked. */
bool lookup_continue(struct gateway *gateway, struct lookup *lookup, uint16_t type);

void lookup_step(struct gateway *gateway, struct lookup *lookup);
void lookup_expire(struct gateway *gateway);
/* Forgets those whose client is gone. */
void lookup_orphan(struct gateway *gateway, const struct dns_client *client);

#endif
