/*
 * Our own questions to the host's nameservers: one socket each, so that every question has a port and a number nobody
 * can guess. The resolver of the C library is no choice in a static program that opens no file.
 */
#include "base/own.h"
#include "net/lookup.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#define LOOKUPS_MAX 256
#define NAMESERVER_PORT 53
#define ANSWER_MAX 4096

/* Asks the next server: a new socket, a new number. False when all were asked often enough. */
static bool ask_next(struct gateway *gateway, struct lookup *lookup)
{
	const struct net_hosts *hosts = &gateway->hosts;
	struct sockaddr_storage server;
	uint16_t id;

	source_close(gateway, &lookup->source);
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

	tell_failed(gateway, &refusal, "no nameserver of this machine answered");
	stub_answer(gateway, lookup, &answer);
	lookup->is_done = true;
}

bool lookup_start(struct gateway *gateway, const struct dns_query *asked,
		  const struct origin *origin)
{
	struct lookup *lookup;

	if (gateway->lookup_count >= LOOKUPS_MAX)
		return false;
	lookup = xcalloc(1, sizeof(*lookup));
	lookup->source = (struct source){ .kind = SOURCE_LOOKUP, .fd = -1, .owner = lookup };
	lookup->asked = *asked;
	lookup->question = *asked;
	lookup->origin = *origin;
	lookup->next = gateway->lookups;
	gateway->lookups = lookup;
	gateway->lookup_count++;
	if (!ask_next(gateway, lookup))
		give_up(gateway, lookup);
	return true;
}

void lookup_step(struct gateway *gateway, struct lookup *lookup)
{
	uint8_t bytes[ANSWER_MAX];
	struct dns_answer answer;
	ssize_t len = recv(lookup->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (lookup->is_done)
		return;
	/* Nobody there: an answer of its own kind. A datagram that is no answer to ours is as good as none. */
	if (len < 0) {
		lookup->deadline_ns = gateway->now_ns;
		return;
	}
	if (dns_parse_answer(bytes, (size_t)len, &lookup->question, &answer) < 0)
		return;
	if (answer.code != DNS_OK && answer.code != DNS_NXDOMAIN &&
	    lookup->tries < gateway->hosts.server_count) {
		lookup->deadline_ns = gateway->now_ns;
		return;
	}
	stub_answer(gateway, lookup, &answer);
	lookup->is_done = true;
}

void lookup_expire(struct gateway *gateway)
{
	struct lookup **at = &gateway->lookups;

	while (*at) {
		struct lookup *lookup = *at;

		if (!lookup->is_done && gateway->now_ns >= lookup->deadline_ns &&
		    !ask_next(gateway, lookup))
			give_up(gateway, lookup);
		if (!lookup->is_done) {
			at = &lookup->next;
			continue;
		}
		*at = lookup->next;
		source_close(gateway, &lookup->source);
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
