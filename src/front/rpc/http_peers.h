/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of an HTTP server, bounded in number and in time, so that idle ones never keep a client out.
 *
 * A peer is busy while its request is being answered, and idle otherwise: nothing sent, half a header, half a body. A peer
 * is known once a request of its passed the server's check. Where there are too many, the oldest idle peer that is not
 * known gives way, then the oldest idle one.
 */
#ifndef FRONT_RPC_HTTP_PEERS_H
#define FRONT_RPC_HTTP_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct peer {
	struct peer *next, *previous;
	uint64_t since_ns; /* opened, or last busy */
	int fd;
	bool is_known, is_busy, is_ended;
};

/* Oldest first, by SINCE_NS. */
struct peers {
	struct peer *first, *last;
	unsigned count; /* without those that were ended and are not closed yet */
	unsigned most;
};

/* How many connections this process has descriptors for; raises its limit on them as far as that goes. */
unsigned peers_limit(void);
/* A new connection on FD, which stays the caller's; an older peer is ended where there are too many. */
struct peer *peers_add(struct peers *all, int fd, uint64_t now_ns);
/* The connection is closed. Frees PEER. */
void peers_remove(struct peers *all, struct peer *peer);
/* Headers of a request passed the check: the peer is known, and its time begins anew. */
void peer_is_known(struct peers *all, struct peer *peer, uint64_t now_ns);
void peer_set_busy(struct peers *all, struct peer *peer, bool is_busy, uint64_t now_ns);
/* Ends idle peers whose time is over. Returns milliseconds until the next one's; -1: there is none. */
int peers_expire(struct peers *all, uint64_t now_ns);

#endif
