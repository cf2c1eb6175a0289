/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the gateway share. Private to net. */
#ifndef NET_GATEWAY_PARTS_H
#define NET_GATEWAY_PARTS_H

#include "net/gateway/gateway.h"
#include "net/rule/hosts.h"
#include "net/rule/pins.h"
#include "net/gateway/proxy.h"
#include "net/gateway/report.h"
#include "net/rule/rule_set.h"
#include "net/rule/secret.h"

#include <stdbool.h>
#include <stdint.h>

#define SECOND_NS 1000000000ull
#define PORTS_BYTES (65536 / 8)
#define PIPES_KEPT 32

enum source_kind {
	SOURCE_REPORT,
	SOURCE_INSIDE,
	SOURCE_LISTENER,
	SOURCE_CONNECTION, /* either side of one */
	SOURCE_DNS_UDP,
	SOURCE_DNS_LISTENER,
	SOURCE_DNS_CLIENT,
	SOURCE_LOOKUP,
	SOURCE_UDP_PORT,
	SOURCE_UDP_FLOW,
	SOURCE_SEEN,
	SOURCE_PUBLISHED,
	SOURCE_TLS_GATEWAY,
};

/* Something epoll watches; owned by what embeds it, or by itself. */
struct source {
	enum source_kind kind;
	int fd;
	uint32_t events; /* watched for; 0: not in epoll at all */
	uint16_t port;	 /* of listeners, and of published ports inside */
	bool is_v6;	 /* of observers */
	void *owner;
};

struct pipe_ends {
	int fds[2];
};

struct dns_client;
struct udp_flow;
struct origin;
struct inject_place;

struct gateway {
	struct gateway_options options;
	struct rule_set rules;
	const struct net_policy *policy; /* theirs */
	struct secret *secrets;		 /* headers added to requests */
	size_t secret_count;
	struct inject_place *places; /* hand_over.c */
	size_t place_count;
	struct source tls_gateway; /* to aisbx-gateway */
	struct net_hosts hosts;
	struct pins pins;
	struct proxies proxies;
	bool has_v6;		   /* the host has a route for IPv6 */
	bool is_over, owes_counts; /* which the supervisor gets when nothing else is left to do */
	int epoll_fd;
	int spare_fd, routes_fd; /* let go when there is no other; for own_address_is */
	struct source report, inside;
	uint64_t now_ns;
	struct net_counts counts;
	uint8_t served[2][PORTS_BYTES]; /* ports with a listener, TCP and UDP */
	struct source *seen[2];
	struct connection *connections, *dead_connections;
	size_t connection_count, connection_max;
	struct pipe_ends pipes[PIPES_KEPT];
	size_t pipe_count;
	struct dns_client *dns_clients;
	size_t dns_client_count;
	struct lookup *lookups;
	size_t lookup_count;
	struct udp_flow *flows;
	size_t flow_count, refuser_steps;
	int *dials; /* unconnected sockets of the sandbox's network */
	size_t dial_count;
};

int source_watch(struct gateway *gateway, struct source *source, uint32_t events);
void source_close(struct gateway *gateway, struct source *source);
int source_accept(struct gateway *gateway, const struct source *listener);
/* tell.c: denials, in words. NAME, ADDRESS and RULE may be NULL. */
struct refusal {
	const char *verb; /* "connect", "resolve" */
	const char *name;
	const struct net_address *address;
	struct net_port port;
	const char *rule; /* what decided; NULL: no rule allows it */
	bool is_hopeless; /* nor would one */
	const char *hint; /* of report_failed; NULL: nothing to do about it here */
};
void report_refused(struct gateway *gateway, const struct refusal *refusal);
/* WHY: what the world outside answered. */
void report_failed(struct gateway *gateway, const struct refusal *refusal, const char *why);

struct decision { /* decide.c */
	bool passes;
	bool by_name;	  /* only a name permits it: TLS must ask for that name */
	const char *rule; /* what decided against it, or NULL */
	const char *name; /* one the address was an answer to, or NULL */
	struct net_address dial;
};
void decide(struct gateway *gateway, const struct net_address *address, struct net_port port,
	    struct decision *ret_decision);
/* Takes the permission back where DECISION would dial an address of this machine's own. */
void decide_own(struct gateway *gateway, struct net_port port, struct decision *decision);
/* Whether NAME is one of the names that permit this connection. */
bool decide_name(struct gateway *gateway, const struct net_address *address, struct net_port port,
		 const char *name);
void decide_pin_localhost(struct gateway *gateway); /* names the loopback inside, for rules */
/* The address that stands for the host's loopback inside. */
const struct net_address *host_address(void);

/* stub.c: names. */
void stub_udp(struct gateway *gateway, struct source *source);
void stub_accept(struct gateway *gateway, struct source *source);
void stub_client(struct gateway *gateway, struct dns_client *client);
void stub_expire(struct gateway *gateway);
void stub_notify_open(struct gateway *gateway); /* connections without a lookup, as denials */
void stub_answer(struct gateway *gateway, struct lookup *lookup, struct dns_answer *answer);

void connection_accept(struct gateway *gateway, struct source *listener); /* connection.c */
void connection_publish(struct gateway *gateway, struct source *listener);
void connection_step(struct gateway *gateway, struct source *side, uint32_t events);
void connection_expire(struct gateway *gateway);
void connection_sweep(struct gateway *gateway); /* frees those that ended in this round */
/* recheck.c: ends connections and flows that CHANGE, which has been made, takes the permission from. */
void recheck(struct gateway *gateway, const struct rule_change *change);
void datagram_inner(struct gateway *gateway, struct source *port); /* datagram.c */
void datagram_outer(struct gateway *gateway, struct udp_flow *flow);
void datagram_recheck(struct gateway *gateway, const char *rule);
void datagram_expire(struct gateway *gateway);
/* Reads one datagram with the address it was sent to. Length, or -1. */
ssize_t datagram_receive(int fd, void *buffer, size_t size, struct origin *ret_origin);
/* Sends to ORIGIN's peer as if from the address it had been sent to. */
void datagram_send(const struct origin *origin, const void *bytes, size_t len);
void seen_read(struct gateway *gateway, struct source *source); /* seen.c */

#endif
