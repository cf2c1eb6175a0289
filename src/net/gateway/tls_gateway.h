/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the gateway and aisbx-gateway, which judges requests inside TLS and puts secrets into requests. The gateway
 * judges a connection and dials; one for such a host is then handed over, both of its sockets, before a byte of it was taken.
 */
#ifndef NET_TLS_GATEWAY_H
#define NET_TLS_GATEWAY_H

#include "net/rule/policy.h"

#include <stdbool.h>
#include <stdint.h>

enum tls_gateway_order_kind {
	TLS_GATEWAY_CONNECTION = 1, /* with two sockets: the client's, the server's */
	TLS_GATEWAY_RULE,	    /* a rule has changed */
};

struct tls_gateway_order {
	uint32_t kind;
	uint16_t port;
	bool is_tls;
	bool is_deny, is_removal;
	struct net_address address;
	char name[NET_NAME_SIZE];
	char rule[NET_RULE_SIZE];
};

/* A connection has ended. */
struct tls_gateway_counts {
	uint64_t sent_bytes, received_bytes;
};

#endif
