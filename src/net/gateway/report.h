/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the gateway and its supervisor. */
#ifndef NET_REPORT_H
#define NET_REPORT_H

#include "base/core/error.h"
#include "net/inside/inside.h"
#include "net/rule/policy.h"

#include <stdbool.h>
#include <stdint.h>

enum net_report_kind {
	NET_REPORT_DENIAL = 1,
	NET_REPORT_COUNTS, /* also the answer to a flush: everything seen so far was reported before it */
	NET_REPORT_READY,  /* it serves; sent where the supervisor waits for that */
	NET_REPORT_FAILED, /* the gateway cannot work */
};

/* Since the start. */
struct net_counts {
	uint64_t asked_ns;    /* the order's: answers to earlier ones may come late */
	uint64_t connections; /* that were let through */
	uint64_t sent_bytes, received_bytes;
};

/* Which layer refused: a rule, or the network outside, without a rule in the way. */
#define NET_LAYER "net"
#define NET_LAYER_UPSTREAM "upstream"

struct net_denial {
	uint64_t time_ms; /* since the epoch */
	uint16_t port;	  /* 0 for a name that was only asked for */
	char layer[16];
	char what[NET_NAME_SIZE + 96];
	char rule[NET_NAME_SIZE + 96];
	char hint[NET_NAME_SIZE + 32];
	char name[NET_NAME_SIZE];
	char address[NET_ADDRESS_SIZE];
};

struct net_report {
	enum net_report_kind kind;
	union {
		struct net_denial denial;
		struct net_counts counts;
		struct error error;
	};
};

/*
 * Whether DENIAL settles a call to ADDRESS that was left to the gateway: it is of that very address, or of a name. One of
 * another address may have been on its way when the call was made.
 */
bool net_denial_settles(const struct net_denial *denial, const char *address);

/* Never waits: a supervisor that does not read misses it. 0, or -1 with errno. */
int net_report_send(int fd, const struct net_report *report);

/* 1; 0 at the end of the stream; -1 with errno (EAGAIN when there is none). Never waits. */
int net_report_receive(int fd, struct net_report *ret_report);

enum net_order_kind {
	NET_ORDER_COUNTS =
		1,	   /* answered by NET_REPORT_COUNTS, behind all that was seen until then */
	NET_ORDER_ADD,	   /* one more rule, from now on */
	NET_ORDER_REMOVE,  /* one less */
	NET_ORDER_SOCKETS, /* listeners for ports of new rules come with it */
};

struct net_order {
	enum net_order_kind kind;
	bool is_deny;
	uint64_t asked_ns; /* of NET_ORDER_COUNTS */
	char rule[NET_RULE_SIZE];
	struct inside_socket sockets[INSIDE_BATCH];
};

/* 0, or -1 with errno. */
int net_order_send(int fd, const struct net_order *order, const int *fds, size_t count);

/* As net_report_receive; descriptors are the receiver's, at most INSIDE_BATCH. */
int net_order_receive(int fd, struct net_order *ret_order, int *ret_fds, size_t *ret_count);

/* Asks for counts; the answer has the same RET_ASKED_NS. 0, or -1 with errno. */
int net_report_ask(int fd, uint64_t *ret_asked_ns);

#endif
