/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy that the host's environment names, dialled by the gateway for permitted names.
 *
 * A program inside knows nothing of it. It gets an address of ours for such a name, which stands for that name alone; a
 * connection there becomes CONNECT NAME:PORT at the proxy. Addresses are dialled directly, and the proxy itself is
 * opened to no sandbox. Private to net.
 */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "base/text/url.h"
#include "net/rule/dns.h"
#include "net/rule/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct proxy {
	const char *variable; /* that names it; NULL: there is none */
	bool is_usable;	      /* http://HOST:PORT: other kinds are refused, not passed by */
	char host[URL_HOST_SIZE];
	uint16_t port;
	char *authorization;	 /* value of a header, or NULL; in no report */
	struct dns_answer known; /* its addresses; they count until FRESH_NS */
	uint64_t fresh_ns;
	bool is_asked_for; /* the address, by a lookup */
};

struct proxies {
	struct proxy plain, other; /* for port 80, and for the others */
	const char *exempt;	   /* NO_PROXY */
	char here[NET_NAME_SIZE];  /* this machine's own name; never left to a proxy */
	uint16_t made_count;	   /* of addresses that stand for names */
};

/* What was received of an answer to CONNECT. */
struct tunnel {
	bool has_asked;
	uint16_t got, line_len;
	char status[13]; /* "HTTP/1.1 200", with its NUL */
};

#define TUNNEL_HEAD_MAX 16384
enum tunnel_state { TUNNEL_MORE, TUNNEL_OPEN, TUNNEL_REFUSED, TUNNEL_NONSENSE };
/* One more byte of the answer; at the end of its head, what that means. */
enum tunnel_state tunnel_handle(struct tunnel *tunnel, char byte);

struct gateway;
struct connection;
struct lookup;
#define PROXY_CLOSED "the proxy of this machine is not opened to sandboxes"

/* From the environment of this process, which must stay as it is. */
void proxies_read(struct proxies *ret_proxies);
/* The proxy for a canonical name and port; NULL: none. */
struct proxy *proxies_for(struct proxies *proxies, const char *name, uint16_t port);
/* Whether one is asked for the name, at whatever port. */
bool proxies_take(struct proxies *proxies, const char *name);
/* Finds out where they are, before a connection needs it. */
void proxies_look_up(struct gateway *gateway);
/* Whether ADDRESS is one of those that stand for names. */
bool proxy_made(const struct net_address *address);
/* Whether NAME, which may be NULL, or ADDRESS is a proxy's itself, at that port. */
bool proxy_is(const struct proxies *proxies, const char *name, const struct net_address *address,
	      struct net_port port);
/* Answers with the address that stands for the name. */
void proxy_answer(struct gateway *gateway, const struct dns_query *query,
		  struct dns_answer *answer);
/* Dials the connection's proxy, when its address is known. */
void proxy_dial(struct gateway *gateway, struct connection *connection);
/* A lookup of the proxy's own name has ended. */
void proxy_resolved(struct gateway *gateway, struct lookup *lookup,
		    const struct dns_answer *answer);
/* There is a connection to the proxy: asks, or reads its answer. Whether the way to the server is open. */
bool proxy_step(struct gateway *gateway, struct connection *connection);
/* Reports that the proxy is no way to the server, in words. */
void proxy_report(struct gateway *gateway, const struct connection *connection, const char *why);

#endif
