/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own questions to the host's nameservers: one socket each, so that every question has an unpredictable port and
 * number. The resolver of the C library is no choice in a static program that opens no file.
 */
#include "base/core/own.h"
#include "net/gateway/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#define LOOKUPS_MAX 256
#define NAMESERVER_PORT 53
#define ANSWER_MAX 4096
/* By TCP; with the length in front. */
#define STREAM_MAX (2 + 16384)

static void close_stream(struct gateway *gateway, struct lookup *lookup)
{
	source_close(gateway, &lookup->source);
	free(lookup->stream);
	lookup->stream = NULL;
	lookup->stream_have = 0;
	lookup->is_stream = lookup->has_asked = false;
}

/* The same server, the same question, by TCP: an answer that was cut. */
static bool ask_by_stream(struct gateway *gateway, struct lookup *lookup)
{
	const struct net_hosts *hosts = &gateway->hosts;
	const struct net_address *address =
		&hosts->servers[(lookup->tries - 1) % hosts->server_count];
	struct sockaddr_storage server;
	socklen_t len = net_address_to(address, NAMESERVER_PORT, &server);
	owned(fd_close) int fd =
		socket(server.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	close_stream(gateway, lookup);
	if (fd < 0 || (connect(fd, (struct sockaddr *)&server, len) < 0 && errno != EINPROGRESS))
		return false;
	lookup->source.fd = fd_take(&fd);
	lookup->is_stream = true;
	lookup->stream = xmalloc(STREAM_MAX);
	lookup->deadline_ns = gateway->now_ns + hosts->timeout_ms * 1000000ull;
	return source_watch(gateway, &lookup->source, EPOLLOUT) == 0;
}

/* Asks the next server: a new socket, a new number. False when all were asked often enough. */
static bool ask_next(struct gateway *gateway, struct lookup *lookup)
{
	const struct net_hosts *hosts = &gateway->hosts;
	struct sockaddr_storage server;
	uint16_t id;

	close_stream(gateway, lookup);
	while (lookup->tries < hosts->server_count * hosts->attempts) {
		const struct net_address *address =
			&hosts->servers[lookup->tries++ % hosts->server_count];
		socklen_t len = net_address_to(address, NAMESERVER_PORT, &server);
		struct dns_query *question = &lookup->question;
		owned(fd_close) int fd =
			socket(server.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd < 0 || getrandom(&id, sizeof(id), 0) != sizeof(id) ||
		    connect(fd, (struct sockaddr *)&server, len) < 0)
			continue;
		question->len =
			dns_build_query(question->name, question->type, id, question->bytes);
		if (send(fd, question->bytes, question->len, MSG_NOSIGNAL) < 0)
			continue;
		lookup->source.fd = fd_take(&fd);
		lookup->deadline_ns = gateway->now_ns + hosts->timeout_ms * 1000000ull;
		return source_watch(gateway, &lookup->source, EPOLLIN) == 0;
	}
	return false;
}

static void give_up(struct gateway *gateway, struct lookup *lookup)
{
	struct dns_answer answer = { .code = DNS_SERVFAIL };
	const struct refusal refusal = { .verb = "resolve", .name = lookup->asked.name };

	lookup->is_done = true;
	if (lookup->cut.count > 0)
		answer = lookup->cut;
	else if (!proxies_take(&gateway->proxies, lookup->asked.name))
		report_failed(gateway, &refusal, "no nameserver of this machine answered");
	stub_answer(gateway, lookup, &answer);
}

bool lookup_continue(struct gateway *gateway, struct lookup *lookup, uint16_t type)
{
	lookup->question.type = type;
	lookup->tries = 0;
	lookup->cut.count = 0;
	lookup->is_done = !ask_next(gateway, lookup);
	return !lookup->is_done;
}

bool lookup_start(struct gateway *gateway, const struct dns_query *asked,
		  const struct origin *origin, struct proxy *proxy)
{
	struct lookup *lookup;

	if (gateway->lookup_count >= LOOKUPS_MAX)
		return false;
	lookup = xcalloc(1, sizeof(*lookup));
	lookup->source = (struct source){ .kind = SOURCE_LOOKUP, .fd = -1, .owner = lookup };
	lookup->asked = *asked;
	lookup->question = *asked;
	lookup->origin = *origin;
	lookup->proxy = proxy;
	lookup->next = gateway->lookups;
	gateway->lookups = lookup;
	gateway->lookup_count++;
	if (!ask_next(gateway, lookup))
		give_up(gateway, lookup);
	return true;
}

static void take_answer(struct gateway *gateway, struct lookup *lookup, struct dns_answer *answer)
{
	if (answer->is_cut && !lookup->is_stream) {
		if (answer->code == DNS_OK)
			lookup->cut = *answer;
		if (!ask_by_stream(gateway, lookup))
			lookup->deadline_ns = gateway->now_ns;
		return;
	}
	if (answer->code != DNS_OK && answer->code != DNS_NXDOMAIN &&
	    lookup->tries < gateway->hosts.server_count) {
		lookup->deadline_ns = gateway->now_ns;
		return;
	}
	lookup->is_done = true;
	stub_answer(gateway, lookup, answer);
}

/* Sends the question once there is a connection. False when that is no use. */
static bool say_question(struct gateway *gateway, struct lookup *lookup)
{
	const struct dns_query *question = &lookup->question;
	uint8_t bytes[2 + DNS_QUESTION_MAX] = { (uint8_t)(question->len >> 8),
						(uint8_t)question->len };

	memcpy(bytes + 2, question->bytes, question->len);
	/* A fresh connection always has that much room. */
	if (send(lookup->source.fd, bytes, 2 + question->len, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)(2 + question->len))
		return false;
	lookup->has_asked = true;
	return source_watch(gateway, &lookup->source, EPOLLIN) == 0;
}

/* One more part of the answer. False when it is of no use, and the next server's turn. */
static bool handle_stream(struct gateway *gateway, struct lookup *lookup)
{
	struct dns_answer answer;
	ssize_t got = recv(lookup->source.fd, lookup->stream + lookup->stream_have,
			   STREAM_MAX - lookup->stream_have, MSG_DONTWAIT);
	size_t len;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	lookup->stream_have += (size_t)got;
	if (got == 0 || lookup->stream_have < 2)
		return got > 0;
	len = (size_t)(lookup->stream[0] << 8 | lookup->stream[1]);
	if (lookup->stream_have < 2 + len)
		return 2 + len <= STREAM_MAX;
	if (dns_parse_answer(lookup->stream + 2, len, &lookup->question, &answer) < 0)
		return false;
	take_answer(gateway, lookup, &answer);
	return true;
}

void lookup_step(struct gateway *gateway, struct lookup *lookup)
{
	uint8_t bytes[ANSWER_MAX];
	struct dns_answer answer;
	ssize_t len;

	if (lookup->is_done)
		return;
	if (lookup->is_stream) {
		if (lookup->has_asked ? !handle_stream(gateway, lookup)
				      : !say_question(gateway, lookup))
			lookup->deadline_ns = gateway->now_ns;
		return;
	}
	len = recv(lookup->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	/* No server there: an answer of its own kind. A datagram that is no answer to ours is as good as none. */
	if (len < 0)
		lookup->deadline_ns = gateway->now_ns;
	else if (dns_parse_answer(bytes, (size_t)len, &lookup->question, &answer) == 0)
		take_answer(gateway, lookup, &answer);
}

void lookup_expire(struct gateway *gateway)
{
	struct lookup **at = &gateway->lookups;

	/* Giving up may start another lookup, which becomes the first of the list: nothing is unlinked meanwhile. */
	for (struct lookup *lookup = *at; lookup; lookup = lookup->next) {
		if (!lookup->is_done && gateway->now_ns >= lookup->deadline_ns &&
		    !ask_next(gateway, lookup))
			give_up(gateway, lookup);
	}
	while (*at) {
		struct lookup *lookup = *at;

		if (!lookup->is_done) {
			at = &lookup->next;
			continue;
		}
		*at = lookup->next;
		close_stream(gateway, lookup);
		free(lookup);
		gateway->lookup_count--;
	}
}

void lookup_orphan(struct gateway *gateway, const struct dns_client *client)
{
	for (struct lookup *lookup = gateway->lookups; lookup; lookup = lookup->next) {
		if (lookup->origin.client == client)
			lookup->origin.client = NULL;
	}
}
