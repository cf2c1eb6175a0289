/* SPDX-License-Identifier: Apache-2.0 */
/* The stub that answers programs inside: listed names only, by UDP and TCP. */
#include "base/core/own.h"
#include "net/gateway/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define QUERIES_PER_ROUND 32
#define CLIENTS_MAX 64
#define CLIENT_NS (10 * SECOND_NS)
/* Programs keep an address for longer than its TTL: this is the most that an answer gives, and the least that a pin holds. */
#define TTL_MAX 300
#define NAMES_PORT 53
/* Messages, connections and pieces that arrive by them. */
#define REFUSER_STEPS_MAX 65536
#define PIN_MIN 300
/* Longer than an address stands for the name at a proxy, which is judged by these. */
#define PROXIED_PIN_MIN 3900

struct dns_client {
	struct source source;
	struct dns_client *next;
	uint8_t bytes[2 + DNS_MESSAGE_MAX];
	size_t have;
	uint64_t deadline_ns;
	struct net_address local; /* where the program meant to connect to */
	bool has_asked, is_answered;
	bool is_done;
};

static void send_answer(const struct origin *origin, const struct dns_query *query,
			const struct dns_answer *answer)
{
	uint8_t out[2 + DNS_MESSAGE_MAX];
	size_t len = dns_build_answer(query, answer, out + 2);

	if (origin->udp_fd >= 0) {
		datagram_send(origin, out + 2, len);
		return;
	}
	out[0] = (uint8_t)(len >> 8);
	out[1] = (uint8_t)len;
	/* A fresh connection always has that much room; a client that does not read loses the answer. */
	if (origin->client && send(origin->client->source.fd, out, len + 2,
				   MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len + 2)
		origin->client->is_done = true;
}

static void send_code(const struct origin *origin, const struct dns_query *query, int code)
{
	const struct dns_answer answer = { .code = code };

	send_answer(origin, query, &answer);
}

/* Services (_ldap._tcp), addresses asked for their names, and what is no name at all: no rule would help. */
static bool has_remedy(const struct dns_query *query)
{
	return query->has_name && query->name[0] != '_' && !strstr(query->name, "._") &&
	       query->type != DNS_TYPE_PTR && query->type != DNS_TYPE_SRV;
}

static void refuse_name(struct gateway *gateway, const struct dns_query *query, const char *rule)
{
	const struct refusal refusal = { .verb = "resolve",
					 .name = query->name[0] ? query->name : ".",
					 .rule = rule,
					 .is_hopeless = !has_remedy(query) };

	report_refused(gateway, &refusal);
}

/* Without a network, where what was sent is no lookup: the denial has the address instead. No rule can be about port 53. */
static void refuse_place(struct gateway *gateway, const struct net_address *address, bool is_udp)
{
	const struct refusal refusal = { .verb = is_udp ? "send" : "connect",
					 .address = address,
					 .port = { is_udp, NAMES_PORT },
					 .is_hopeless = true };

	if (gateway->options.is_refusing)
		report_refused(gateway, &refusal);
}

/* A connection that brought nothing, or ended within a message. */
static void refuse_client(struct gateway *gateway, struct dns_client *client)
{
	if (client->is_answered || (client->has_asked && client->have == 0))
		return;
	client->is_answered = true;
	refuse_place(gateway, &client->local, false);
}

/* The refuser has no share of the processor of its own: what programs make it do is bounded. */
static void count_step(struct gateway *gateway)
{
	if (gateway->options.is_refusing && ++gateway->refuser_steps >= REFUSER_STEPS_MAX)
		gateway->is_over = true;
}

/* Leaves only addresses a name may lead to, and pins those. What is left out is reported. */
static void pin_addresses(struct gateway *gateway, const struct dns_query *query,
			  struct dns_answer *answer)
{
	uint64_t least = proxies_take(&gateway->proxies, query->name) ? PROXIED_PIN_MIN : PIN_MIN;
	uint64_t seconds = answer->ttl > least ? answer->ttl : least;
	size_t kept = 0;

	for (size_t i = 0; i < answer->count; i++) {
		const struct net_address *address = &answer->addresses[i];
		const struct net_special *special = net_address_special(address);
		char text[NET_ADDRESS_SIZE], why[128];

		if (!special) {
			if (pins_add(&gateway->pins, address, query->name,
				     gateway->now_ns + seconds * SECOND_NS))
				answer->addresses[kept++] = *address;
			continue;
		}
		net_address_format(address, text);
		(void)snprintf(why, sizeof(why), "a name must not lead to a %s address: %s",
			       special->what, text);
		refuse_name(gateway, query, why);
	}
	/* A name that led nowhere else does not exist. */
	if (kept == 0 && answer->count > 0)
		answer->code = DNS_NXDOMAIN;
	answer->count = kept;
	if (answer->ttl > TTL_MAX)
		answer->ttl = TTL_MAX;
}

/* What the program gets. */
static void conclude(struct gateway *gateway, const struct origin *origin,
		     const struct dns_query *query, struct dns_answer *answer)
{
	if (answer->code == DNS_OK)
		pin_addresses(gateway, query, answer);
	else if (answer->code != DNS_NXDOMAIN)
		answer->code = DNS_SERVFAIL;
	send_answer(origin, query, answer);
}

/* Whether nothing in the answer keeps a name from a proxy, which may go to any of its addresses. */
static bool may_hand_over(struct gateway *gateway, const struct dns_query *query,
			  struct dns_answer *answer)
{
	size_t found = answer->code == DNS_OK ? answer->count : 0;

	if (found > 0)
		pin_addresses(gateway, query, answer);
	return found == 0 || answer->count == found;
}

static void hand_over(struct gateway *gateway, const struct origin *origin,
		      const struct dns_query *query)
{
	struct dns_answer answer;

	proxy_answer(gateway, query, &answer);
	send_answer(origin, query, &answer);
}

void stub_answer(struct gateway *gateway, struct lookup *lookup, struct dns_answer *answer)
{
	const struct dns_query *asked = &lookup->asked;

	if (lookup->proxy)
		proxy_resolved(gateway, lookup, answer);
	else if (!proxies_take(&gateway->proxies, asked->name))
		conclude(gateway, &lookup->origin, asked, answer);
	else if (!may_hand_over(gateway, asked, answer))
		send_code(&lookup->origin, asked, DNS_NXDOMAIN);
	else if (lookup->question.type != DNS_TYPE_A ||
		 !lookup_continue(gateway, lookup, DNS_TYPE_AAAA))
		hand_over(gateway, &lookup->origin, asked);
}

/* From the hosts file alone. */
static void answer_known(struct gateway *gateway, const struct origin *origin,
			 const struct dns_query *query, struct dns_answer *answer)
{
	if (!proxies_take(&gateway->proxies, query->name))
		conclude(gateway, origin, query, answer);
	else if (may_hand_over(gateway, query, answer) &&
		 net_hosts_find(&gateway->hosts, query->name, DNS_TYPE_AAAA, answer) &&
		 may_hand_over(gateway, query, answer))
		hand_over(gateway, origin, query);
	else
		send_code(origin, query, DNS_NXDOMAIN);
}

/* Most programs know it from /etc/hosts; for the others it is the same. */
static void answer_localhost(const struct origin *origin, const struct dns_query *query)
{
	struct dns_answer answer = { .ttl = TTL_MAX };

	answer.count = net_address_parse(query->type == DNS_TYPE_A ? "127.0.0.1" : "::1",
					 &answer.addresses[0]) &&
		       (query->type == DNS_TYPE_A || query->type == DNS_TYPE_AAAA);
	send_answer(origin, query, &answer);
}

/* The host's own loopback: an address of ours stands for it. */
static void answer_host(struct gateway *gateway, const struct origin *origin,
			const struct dns_query *query)
{
	struct dns_answer answer = { .ttl = TTL_MAX };

	if (query->type == DNS_TYPE_A) {
		answer.addresses[answer.count++] = *host_address();
		(void)pins_add(&gateway->pins, host_address(), query->name, UINT64_MAX);
	}
	send_answer(origin, query, &answer);
}

static void answer_listed(struct gateway *gateway, const struct origin *origin,
			  const struct dns_query *query)
{
	struct dns_answer answer;

	if (strcmp(query->name, NET_HOST_NAME) == 0) {
		answer_host(gateway, origin, query);
		return;
	}
	/* Other types of a listed name exist, but are empty; no question leaves for them. */
	if (query->type != DNS_TYPE_A && !(query->type == DNS_TYPE_AAAA && gateway->has_v6 &&
					   !proxies_take(&gateway->proxies, query->name))) {
		send_code(origin, query, DNS_OK);
		return;
	}
	if (net_hosts_find(&gateway->hosts, query->name, query->type, &answer)) {
		answer_known(gateway, origin, query, &answer);
		return;
	}
	if (!lookup_start(gateway, query, origin, NULL))
		send_code(origin, query, DNS_SERVFAIL);
}

static void handle_query(struct gateway *gateway, const uint8_t *bytes, size_t len,
			 const struct origin *origin)
{
	struct dns_query query;
	int code = dns_parse_query(bytes, len, &query);

	count_step(gateway);
	if (origin->client)
		origin->client->has_asked = true;
	if (code != DNS_OK) {
		refuse_place(gateway, origin->client ? &origin->client->local : &origin->local,
			     !origin->client);
		if (code > 0)
			send_code(origin, &query, code);
		return;
	}
	if (query.has_name && strcmp(query.name, NET_LOCALHOST) == 0) {
		answer_localhost(origin, &query);
		return;
	}
	if (query.has_name && net_policy_lists(gateway->policy, query.name)) {
		answer_listed(gateway, origin, &query);
		return;
	}
	/* Reported before it is answered: a program that gives up at once must not end before its denial. */
	refuse_name(gateway, &query, NULL);
	send_code(origin, &query, gateway->options.is_refusing ? DNS_REFUSED : DNS_NXDOMAIN);
}

void stub_udp(struct gateway *gateway, struct source *source)
{
	uint8_t bytes[DNS_MESSAGE_MAX];

	for (int i = 0; i < QUERIES_PER_ROUND; i++) {
		struct origin origin;
		ssize_t len = datagram_receive(source->fd, bytes, sizeof(bytes), &origin);

		if (len < 0)
			return;
		handle_query(gateway, bytes, (size_t)len, &origin);
	}
}

void stub_accept(struct gateway *gateway, struct source *source)
{
	owned(fd_close) int fd = source_accept(gateway, source);
	struct sockaddr_storage to;
	socklen_t to_len = sizeof(to);
	struct net_address local = { 0 };
	struct dns_client *client;

	count_step(gateway);
	if (fd < 0)
		return;
	if (getsockname(fd, (struct sockaddr *)&to, &to_len) == 0)
		(void)net_address_from(&to, &local, NULL);
	if (gateway->dns_client_count >= CLIENTS_MAX) {
		refuse_place(gateway, &local, false);
		return;
	}
	client = xcalloc(1, sizeof(*client));
	client->source =
		(struct source){ .kind = SOURCE_DNS_CLIENT, .fd = fd_take(&fd), .owner = client };
	client->local = local;
	client->deadline_ns = gateway->now_ns + CLIENT_NS;
	client->next = gateway->dns_clients;
	gateway->dns_clients = client;
	gateway->dns_client_count++;
	client->is_done = source_watch(gateway, &client->source, EPOLLIN) < 0;
}

void stub_client(struct gateway *gateway, struct dns_client *client)
{
	struct origin origin = { .udp_fd = -1, .client = client };
	ssize_t got = recv(client->source.fd, client->bytes + client->have,
			   sizeof(client->bytes) - client->have, MSG_DONTWAIT);

	count_step(gateway);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		client->is_done = true;
		return;
	}
	client->have += (size_t)got;
	while (client->have >= 2) {
		size_t len = (size_t)(client->bytes[0] << 8 | client->bytes[1]);

		if (len > DNS_MESSAGE_MAX)
			client->is_done = true;
		if (client->is_done || client->have < 2 + len)
			return;
		handle_query(gateway, client->bytes + 2, len, &origin);
		client->have -= 2 + len;
		memmove(client->bytes, client->bytes + 2 + len, client->have);
	}
}

void stub_expire(struct gateway *gateway)
{
	struct dns_client **at = &gateway->dns_clients;

	while (*at) {
		struct dns_client *client = *at;

		if (!client->is_done && gateway->now_ns < client->deadline_ns) {
			at = &client->next;
			continue;
		}
		*at = client->next;
		refuse_client(gateway, client);
		lookup_orphan(gateway, client);
		source_close(gateway, &client->source);
		free(client);
		gateway->dns_client_count--;
	}
}

void stub_notify_open(struct gateway *gateway)
{
	for (struct dns_client *client = gateway->dns_clients; client; client = client->next)
		refuse_client(gateway, client);
}
