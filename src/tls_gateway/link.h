/* SPDX-License-Identifier: Apache-2.0 */
/* One connection that was handed over: its two sockets, and what moves its bytes. */
#ifndef TLS_GATEWAY_LINK_H
#define TLS_GATEWAY_LINK_H

#include "net/gateway/tls_gateway.h"
#include "tls_gateway/exchange.h"
#include "tls_gateway/tls.h"

/* What all of them share. */
struct tls_gateway {
	struct tls_gateway_conf conf;
	struct tls *tls;
	int epoll_fd, control_fd, report_fd;
	uint64_t now_ns;
	struct link *links;
	size_t link_count;
};

struct side {
	int fd;
	struct tls_session *tls; /* NULL: plain */
	uint32_t waits, watched; /* events: of this round; in epoll */
	bool has_ended;
	struct str in, out; /* read and not yet taken; to be written */
	size_t out_at;
};

enum link_phase { LINK_TO_SERVER, LINK_TO_CLIENT, LINK_OPEN, LINK_CLOSING };

struct link {
	struct link *next;
	struct tls_gateway *tls_gateway;
	struct side client, server;
	enum link_phase phase;
	struct exchange exchange;
	char host[NET_NAME_SIZE];
	struct tls_gateway_counts counts;
	uint64_t deadline_ns; /* of the present phase, or of a head that has begun; 0: none */
	uint64_t active_ns;
	bool is_busy; /* more can be moved at once */
	bool is_dead;
};

/* Takes both sockets. */
void link_begin(struct tls_gateway *tls_gateway, const struct tls_gateway_order *order,
		const int fds[static 2]);
/* Moves what can be moved. */
void link_step(struct link *link);
/* Ends those whose time is over. */
void link_expire(struct tls_gateway *tls_gateway);
void link_end_all(struct tls_gateway *tls_gateway);
/* Frees the dead. Whether one that lives has more to do at once. */
bool link_sweep(struct tls_gateway *tls_gateway);

/* link_report.c: a denial, with RULE and the way out or NULL. */
void link_report(const struct link *link, const char *layer, const char *rule, const char *hint);
/* Its present request, which the judge has refused. */
void link_report_request(const struct link *link);
/* Its client, which does not accept our certificate. */
void link_report_distrust(const struct link *link);

#endif
