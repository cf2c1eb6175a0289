/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of an HTTP server: which one gives way to a new one, and when an idle one ends. */
#include "front/rpc/http_peers.h"

#include "base/core/str.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define CONNECTIONS_MAX 1024u
/* Descriptors left for everything else. */
#define DESCRIPTORS_OWN 300u

/* A client has a request ready when it connects; one without a valid request so long after that is not served. */
#define UNKNOWN_NS ((uint64_t)10 * 1000000000)
/* Between two requests of a client that keeps its connection, and for the body of one. */
#define KNOWN_NS ((uint64_t)120 * 1000000000)

static void unlink_peer(struct peers *all, struct peer *peer)
{
	*(peer->previous ? &peer->previous->next : &all->first) = peer->next;
	*(peer->next ? &peer->next->previous : &all->last) = peer->previous;
	peer->next = peer->previous = NULL;
}

static void append_peer(struct peers *all, struct peer *peer, uint64_t now_ns)
{
	peer->since_ns = now_ns;
	peer->previous = all->last;
	*(all->last ? &all->last->next : &all->first) = peer;
	all->last = peer;
}

/* The library owns the descriptor: it sees the end of the connection and closes it. */
static void end_peer(struct peers *all, struct peer *peer)
{
	peer->is_ended = true;
	all->count--;
	(void)shutdown(peer->fd, SHUT_RDWR);
}

static struct peer *oldest_idle(const struct peers *all, bool is_known)
{
	struct peer *at = all->first;

	while (at && (at->is_busy || at->is_ended || at->is_known != is_known))
		at = at->next;
	return at;
}

struct peer *peers_add(struct peers *all, int fd, uint64_t now_ns)
{
	struct peer *peer = xcalloc(1, sizeof(*peer)), *oldest = NULL;

	if (all->count >= all->most) {
		oldest = oldest_idle(all, false);
		oldest = oldest ? oldest : oldest_idle(all, true);
	}
	peer->fd = fd;
	append_peer(all, peer, now_ns);
	all->count++;
	if (all->count > all->most)
		end_peer(all, oldest ? oldest : peer);
	return peer;
}

void peers_remove(struct peers *all, struct peer *peer)
{
	if (!peer->is_ended)
		all->count--;
	unlink_peer(all, peer);
	free(peer);
}

void peer_is_known(struct peers *all, struct peer *peer, uint64_t now_ns)
{
	peer->is_known = true;
	unlink_peer(all, peer);
	append_peer(all, peer, now_ns);
}

void peer_set_busy(struct peers *all, struct peer *peer, bool is_busy, uint64_t now_ns)
{
	peer->is_busy = is_busy;
	unlink_peer(all, peer);
	append_peer(all, peer, now_ns);
}

int peers_expire(struct peers *all, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (struct peer *at = all->first; at; at = at->next) {
		uint64_t end_ns = at->since_ns + (at->is_known ? KNOWN_NS : UNKNOWN_NS);

		if (at->is_busy || at->is_ended)
			continue;
		if (end_ns <= now_ns)
			end_peer(all, at);
		else if (end_ns < next_ns)
			next_ns = end_ns;
	}
	return next_ns == UINT64_MAX ? -1 : (int)((next_ns - now_ns) / 1000000) + 1;
}

unsigned peers_limit(void)
{
	const rlim_t wanted = CONNECTIONS_MAX + DESCRIPTORS_OWN;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return DESCRIPTORS_OWN;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < 2 * DESCRIPTORS_OWN)
		return DESCRIPTORS_OWN;
	return limit.rlim_cur < wanted ? (unsigned)limit.rlim_cur - DESCRIPTORS_OWN
				       : CONNECTIONS_MAX;
}
