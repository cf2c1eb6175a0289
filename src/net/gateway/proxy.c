/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy that the host's environment names: which, for what, and the way through it. */
#include "net/gateway/proxy.h"

#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/text/percent.h"
#include "net/gateway/connection.h"
#include "net/gateway/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long an address stands for a name at least, and one of the proxy is used without a new lookup. */
#define PROGRESS_NS (3600 * SECOND_NS)
#define FRESH_NS (60 * SECOND_NS)
#define TTL 60

/* Of the range for benchmarks, as host_address(): the stub pins no other name to these. */
static const struct net_address made_network = { false, { 198, 19 } };
#define MADE_BITS 16

bool proxy_made(const struct net_address *address)
{
	return net_address_within(address, &made_network, MADE_BITS);
}

/* "Basic ...": USER[:PASSWORD] with its escapes decoded. */
static char *authorization_of(const char *user, size_t len)
{
	struct str value = STR_INIT;
	owned(str_done) struct str plain = STR_INIT;

	for (size_t i = 0; i < len; i++) {
		int escaped = percent_byte(user + i, len - i);
		char byte = escaped < 0 ? user[i] : (char)escaped;

		str_add_bytes(&plain, &byte, 1);
		i += escaped < 0 ? 0 : 2;
	}
	str_add(&value, "Basic ");
	base64_add(&value, str_cstr(&plain), plain.len);
	return str_detach(&value);
}

static void read_one(const char *const *variables, struct proxy *proxy)
{
	owned(str_done) struct str text = STR_INIT;
	const char *value = NULL;
	struct url url;

	for (; *variables && (!value || !*value); variables++) {
		value = getenv(*variables);
		proxy->variable = *variables;
	}
	if (!value || !*value) {
		proxy->variable = NULL;
		return;
	}
	str_addf(&text, "%s%s", strstr(value, "://") ? "" : "http://", value);
	if (strncasecmp(str_cstr(&text), "http://", 7) != 0 ||
	    !url_parse(str_cstr(&text), text.len, &url))
		return;
	proxy->port = url.port;
	/* An address of IPv6 without its brackets, a name in the form of those that are asked for. */
	if (!net_name_canonical(url.host, strlen(url.host), proxy->host))
		(void)snprintf(proxy->host, sizeof(proxy->host), "%.*s",
			       (int)strcspn(url.host + (url.host[0] == '['), "]"),
			       url.host + (url.host[0] == '['));
	proxy->is_usable = true;
	proxy->known.count = net_address_parse(proxy->host, &proxy->known.addresses[0]);
	if (proxy->known.count > 0)
		proxy->fresh_ns = UINT64_MAX;
	if (url.user_len > 1)
		proxy->authorization =
			authorization_of(str_cstr(&text) + url.user_at, url.user_len - 1);
}

/* Where only one is named it is for all: a tunnel through it leads to any port. */
void proxies_read(struct proxies *ret_proxies)
{
	static const char *const plain[] = { "http_proxy",  "HTTP_PROXY",  "all_proxy", "ALL_PROXY",
					     "https_proxy", "HTTPS_PROXY", NULL };
	static const char *const other[] = { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
					     "http_proxy",  "HTTP_PROXY",  NULL };
	char here[NET_NAME_SIZE] = "";

	*ret_proxies = (struct proxies){ .exempt = getenv("no_proxy") };
	if (!ret_proxies->exempt)
		ret_proxies->exempt = getenv("NO_PROXY");
	if (gethostname(here, sizeof(here) - 1) < 0 ||
	    !net_name_canonical(here, strlen(here), ret_proxies->here))
		ret_proxies->here[0] = '\0';
	read_one(plain, &ret_proxies->plain);
	read_one(other, &ret_proxies->other);
}

/* Whether WORD of NO_PROXY is about NAME: that name and all below it, at any port. */
static bool covers(const char *word, size_t len, const char *name)
{
	char host[NET_NAME_SIZE];
	size_t name_len = strlen(name), host_len;

	if (len == 1 && *word == '*')
		return true;
	for (; len > 0 && (*word == '*' || *word == '.'); len--)
		word++;
	len = strcspn(word, ":") < len ? strcspn(word, ":") : len;
	if (!net_name_canonical(word, len, host))
		return false;
	host_len = strlen(host);
	return name_len >= host_len && strcmp(name + name_len - host_len, host) == 0 &&
	       (name_len == host_len || name[name_len - host_len - 1] == '.');
}

/* This machine, to itself and to a proxy on it, without any nameserver. */
static bool is_here(const struct proxies *proxies, const char *name)
{
	static const char *const words[] = { "localhost", "localhost.localdomain" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (covers(words[i], strlen(words[i]), name))
			return true;
	}
	return strcmp(name, proxies->here) == 0;
}

struct proxy *proxies_for(struct proxies *proxies, const char *name, uint16_t port)
{
	static const char between[] = ", \t";
	struct proxy *proxy = port == 80 ? &proxies->plain : &proxies->other;
	const char *at = proxies->exempt ? proxies->exempt : "";

	if (!proxy->variable || is_here(proxies, name))
		return NULL;
	while (*(at += strspn(at, between))) {
		size_t len = strcspn(at, between);

		if (covers(at, len, name))
			return NULL;
		at += len;
	}
	return proxy;
}

bool proxies_take(struct proxies *proxies, const char *name)
{
	return proxies_for(proxies, name, NET_TLS_PORT);
}

static bool is_one(const struct proxy *proxy, const char *name, const struct net_address *address,
		   struct net_port port)
{
	if (!proxy->is_usable || port.is_udp || port.number != proxy->port)
		return false;
	for (size_t i = 0; i < proxy->known.count; i++) {
		if (net_address_equal(address, &proxy->known.addresses[i]))
			return true;
	}
	return name && strcmp(name, proxy->host) == 0;
}

bool proxy_is(const struct proxies *proxies, const char *name, const struct net_address *address,
	      struct net_port port)
{
	return is_one(&proxies->plain, name, address, port) ||
	       is_one(&proxies->other, name, address, port);
}

/* One that stands for the name already, or the next that stands for none. */
static bool made_for(struct gateway *gateway, const char *name, struct net_address *ret_address)
{
	const struct pins *pins = &gateway->pins;
	size_t at;

	for (size_t i = 0; i < pins->count; i++) {
		if (proxy_made(&pins->items[i].address) && strcmp(pins->items[i].name, name) == 0) {
			*ret_address = pins->items[i].address;
			return true;
		}
	}
	for (int tries = 0; tries <= PINS_MAX; tries++) {
		uint16_t number = ++gateway->proxies.made_count;

		*ret_address = made_network;
		ret_address->bytes[2] = (uint8_t)(number >> 8);
		ret_address->bytes[3] = (uint8_t)number;
		at = 0;
		if (number && !pins_next(pins, ret_address, 0, &at))
			return true;
	}
	return false;
}

void proxy_answer(struct gateway *gateway, const struct dns_query *query, struct dns_answer *answer)
{
	*answer = (struct dns_answer){ .code = DNS_OK, .ttl = TTL };
	if (query->type != DNS_TYPE_A)
		return;
	if (made_for(gateway, query->name, &answer->addresses[0]) &&
	    pins_add(&gateway->pins, &answer->addresses[0], query->name,
		     gateway->now_ns + PROGRESS_NS))
		answer->count = 1;
	else
		answer->code = DNS_SERVFAIL;
}

void proxy_report(struct gateway *gateway, const struct connection *connection, const char *why)
{
	const struct proxy *proxy = connection->proxy;
	char words[NET_NAME_SIZE + 96], hint[96];
	const struct refusal refusal = { .verb = "connect",
					 .name = connection->name,
					 .address = &connection->address,
					 .port = connection->port,
					 .hint = hint };

	(void)snprintf(words, sizeof(words), "proxy %.200s:%u of %s: %s",
		       proxy->is_usable ? proxy->host : "?", proxy->port, proxy->variable, why);
	(void)snprintf(hint, sizeof(hint),
		       "look at %s; a host that needs no proxy goes in NO_PROXY", proxy->variable);
	report_failed(gateway, &refusal, words);
}

static void fail(struct gateway *gateway, struct connection *connection, const char *why)
{
	proxy_report(gateway, connection, why);
	connection_end(gateway, connection, true);
}

/* Whether the connection leads to the proxy after all, whose address was not known when it was permitted. */
static bool leads_back(struct gateway *gateway, const struct connection *connection)
{
	const struct net_address *known = &connection->address;
	size_t at = 0;

	while (known && !connection->is_published) {
		if (proxy_is(&gateway->proxies, connection->name, known, connection->port))
			return true;
		known = connection->proxy && connection->name
				? pins_next_address(&gateway->pins, connection->name,
						    gateway->now_ns, &at)
				: NULL;
	}
	return false;
}

static void end_if_back(struct gateway *gateway, struct connection *connection)
{
	const struct refusal refusal = { .verb = "connect",
					 .name = connection->name,
					 .address = &connection->address,
					 .port = connection->port,
					 .rule = PROXY_CLOSED };

	if (!leads_back(gateway, connection))
		return;
	report_refused(gateway, &refusal);
	connection_end(gateway, connection, true);
}

/* All that wait for the proxy's address. */
static void go_on(struct gateway *gateway, const struct proxy *proxy, bool is_known)
{
	struct connection *next;

	for (struct connection *at = gateway->connections; at; at = next) {
		next = at->next;
		end_if_back(gateway, at);
		if (at->is_dead || at->is_connected || at->proxy != proxy || at->outer.fd >= 0)
			continue;
		if (is_known)
			connection_dial(gateway, at, &proxy->known.addresses[0], proxy->port);
		else
			fail(gateway, at, "no nameserver of this machine knows its name");
	}
}

static void know(struct gateway *gateway, struct proxy *proxy, const struct dns_answer *answer)
{
	bool is_known = answer->code == DNS_OK && answer->count > 0;

	proxy->is_asked_for = false;
	if (is_known) {
		proxy->known = *answer;
		proxy->fresh_ns = gateway->now_ns + FRESH_NS;
	}
	go_on(gateway, proxy, is_known);
}

/* By its address of IPv4, else of IPv6. */
static void look_up(struct gateway *gateway, struct proxy *proxy, uint16_t type)
{
	struct dns_query query = { .type = type, .has_name = true };
	struct dns_answer answer = { .code = DNS_SERVFAIL };
	const struct origin origin = { .udp_fd = -1 };

	proxy->is_asked_for = true;
	if (!net_name_canonical(proxy->host, strlen(proxy->host), query.name) ||
	    net_hosts_find(&gateway->hosts, query.name, type, &answer) ||
	    !lookup_start(gateway, &query, &origin, proxy))
		know(gateway, proxy, &answer);
}

void proxy_resolved(struct gateway *gateway, struct lookup *lookup, const struct dns_answer *answer)
{
	bool is_empty = answer->code != DNS_OK || answer->count == 0;

	if (is_empty && lookup->asked.type == DNS_TYPE_A && gateway->has_v6)
		look_up(gateway, lookup->proxy, DNS_TYPE_AAAA);
	else
		know(gateway, lookup->proxy, answer);
}

void proxies_look_up(struct gateway *gateway)
{
	struct proxy *const both[] = { &gateway->proxies.plain, &gateway->proxies.other };

	for (size_t i = 0; i < 2; i++) {
		if (both[i]->is_usable && !both[i]->fresh_ns)
			look_up(gateway, both[i], DNS_TYPE_A);
	}
}

void proxy_dial(struct gateway *gateway, struct connection *connection)
{
	struct proxy *proxy = connection->proxy;

	if (!proxy->is_usable)
		fail(gateway, connection, "only http://HOST:PORT can be dialled");
	else if (gateway->now_ns < proxy->fresh_ns)
		connection_dial(gateway, connection, &proxy->known.addresses[0], proxy->port);
	else if (!proxy->is_asked_for)
		look_up(gateway, proxy, DNS_TYPE_A);
}

static bool ask(struct gateway *gateway, struct connection *connection)
{
	const char *authorization = connection->proxy->authorization;
	unsigned port = connection->port.number;
	owned(str_done) struct str head = STR_INIT;

	str_addf(&head, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n", connection->name, port,
		 connection->name, port);
	if (authorization)
		str_addf(&head, "Proxy-Authorization: %s\r\n", authorization);
	str_add(&head, "\r\n");
	connection->tunnel.has_asked = true;
	/* A fresh connection always has that much room. */
	if (send(connection->outer.fd, str_cstr(&head), head.len, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)head.len)
		fail(gateway, connection, error_words(errno));
	return false;
}

/* The head has ended. */
static enum tunnel_state judge(const struct tunnel *tunnel)
{
	const char *status = tunnel->status;

	if (memcmp(status, "HTTP/1.", 7) != 0 || status[8] != ' ' || status[9] == '0' ||
	    strspn(status + 9, "0123456789") < 3)
		return TUNNEL_NONSENSE;
	return status[9] == '2' ? TUNNEL_OPEN : TUNNEL_REFUSED;
}

enum tunnel_state tunnel_handle(struct tunnel *tunnel, char byte)
{
	if (tunnel->got < sizeof(tunnel->status) - 1)
		tunnel->status[tunnel->got] = byte;
	if (++tunnel->got == TUNNEL_HEAD_MAX)
		return TUNNEL_NONSENSE;
	if (byte == '\n' && tunnel->line_len == 0)
		return judge(tunnel);
	if (byte == '\n')
		tunnel->line_len = 0;
	else if (byte != '\r')
		tunnel->line_len++;
	return TUNNEL_MORE;
}

static void fail_refused(struct gateway *gateway, struct connection *connection)
{
	const char *status = connection->tunnel.status + 9;
	char why[128];

	(void)snprintf(why, sizeof(why), "it refuses with %.3s%s", status,
		       memcmp(status, "407", 3) == 0 ? " (user or password)" : "");
	fail(gateway, connection, why);
}

/* Byte by byte: what stands behind the head is the server's, and must stay for the program. */
bool proxy_step(struct gateway *gateway, struct connection *connection)
{
	struct tunnel *tunnel = &connection->tunnel;
	enum tunnel_state state = TUNNEL_MORE;
	ssize_t got = 1;
	char byte;

	if (!tunnel->has_asked)
		return ask(gateway, connection);
	while (state == TUNNEL_MORE &&
	       (got = recv(connection->outer.fd, &byte, 1, MSG_DONTWAIT)) == 1)
		state = tunnel_handle(tunnel, byte);
	if (state == TUNNEL_REFUSED)
		fail_refused(gateway, connection);
	else if (state == TUNNEL_NONSENSE)
		fail(gateway, connection,
		     tunnel->got == TUNNEL_HEAD_MAX ? "it gives no sound answer, but a long one"
						    : "it does not speak HTTP");
	else if (got == 0)
		fail(gateway, connection, "it ended the connection without a sound answer");
	else if (got < 0 && errno != EAGAIN && errno != EINTR)
		fail(gateway, connection, error_words(errno));
	return state == TUNNEL_OPEN;
}
