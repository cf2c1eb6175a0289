/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of plain HTTP, judged one by one: a head is looked at where it lies, in the socket, and goes on only when it
 * was permitted; its body is spliced behind it. What the server answers is not looked at.
 *
 * A refused first request is answered. Behind permitted ones the client gets their answers, and then the end.
 */
#include "base/core/own.h"
#include "net/gateway/connection.h"
#include "net/rule/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define HEAD_NS (10 * SECOND_NS)
#define CLOSE_NS (2 * SECOND_NS)
#define ANSWERS_NS (10 * SECOND_NS)
#define STEPS_PER_ROUND 16
#define DISCARDS_PER_ROUND 16
#define PATH_SHOWN 120
#define HTTP_PORT 80
/* The first byte of a ClientHello; no method begins with it. */
#define TLS_HANDSHAKE 0x16

void gate_requests_done(struct requests *requests)
{
	/* A secret may be in it. */
	if (requests->pending)
		explicit_bzero(requests->pending, requests->pending_len);
	free(requests->pending);
	requests->pending = NULL;
}

static const struct secret *secret_of(const struct gateway *gateway, const char *name)
{
	for (size_t i = 0; name && i < gateway->secret_count; i++) {
		if (strcmp(gateway->secrets[i].host, name) == 0)
			return &gateway->secrets[i];
	}
	return NULL;
}

bool gate_judges_name(const struct gateway *gateway, const struct connection *connection,
		      const char *name)
{
	const struct net_request request = { .name = name,
					     .address = &connection->address,
					     .port = connection->port };

	return net_policy_judges_requests(gateway->policy, &request) ||
	       (connection->port.number != NET_TLS_PORT && secret_of(gateway, name));
}

bool gate_is_restricted(const struct gateway *gateway, const struct connection *connection)
{
	const char *name = NULL;
	size_t at = 0;

	do {
		if (gate_judges_name(gateway, connection, name))
			return true;
		name = pins_next(&gateway->pins, &connection->address, gateway->now_ns, &at);
	} while (name);
	return false;
}

bool gate_judges_port(const struct gateway *gateway, struct net_port port)
{
	const char *ignored;

	for (size_t i = 0; port.number != NET_TLS_PORT && i < gateway->secret_count; i++) {
		if (net_policy_name(gateway->policy, gateway->secrets[i].host, port, &ignored) ==
		    NET_ALLOWED)
			return true;
	}
	if (port.number != NET_TLS_PORT && hand_over_knows_port(gateway, port))
		return true;
	return net_policy_judges_port(gateway->policy, port);
}

/*
 * By the port alone: which names share the address is known only for those that were looked up. What a proxy passes on
 * to a web server must be HTTP or TLS: the server may be a proxy as well, and less strict about a CONNECT.
 */
void gate_choose(struct gateway *gateway, struct connection *connection)
{
	if (gate_judges_port(gateway, connection->port) ||
	    (connection->proxy && connection->port.number == HTTP_PORT))
		gate_limit(connection, GATE_HTTP);
	else if (connection->must_say_name)
		connection->gate = GATE_TLS;
}

/* TLS to a host without rules about requests goes on as on any other port. */
static bool leaves_for_tls(struct gateway *gateway, struct connection *connection, char first)
{
	bool is_due = hand_over_may_be_due(gateway, connection);

	/* Requests in TLS that is handed over are judged by aisbx-gateway. */
	if (first != TLS_HANDSHAKE || connection->requests.count > 0 ||
	    (!is_due && gate_is_restricted(gateway, connection)))
		return false;
	connection->must_say_name |= is_due;
	connection->gate = GATE_TLS;
	connection->up.limit = NULL;
	return true;
}

static void answer(struct gateway *gateway, struct connection *connection, const char *status,
		   const char *why)
{
	char text[1024];
	int body = snprintf(NULL, 0, "aisbx: %s\n", why);
	int len = snprintf(text, sizeof(text),
			   "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
			   "Connection: close\r\n\r\naisbx: %s\n",
			   status, body, why);

	if (len > 0 && (size_t)len < sizeof(text))
		(void)send(connection->inner.fd, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(connection->inner.fd, SHUT_WR);
	source_close(gateway, &connection->outer);
	stream_stop(gateway, &connection->up);
	stream_stop(gateway, &connection->down);
	connection->deadline_ns = gateway->now_ns + CLOSE_NS;
}

/* STATUS and WHY for the client. */
static void close_refused(struct gateway *gateway, struct connection *connection,
			  const char *status, const char *why)
{
	connection->is_closing = true;
	connection->hello_ns = 0;
	gate_wait_for(connection, 1);
	if (connection->requests.count == 0) {
		answer(gateway, connection, status, why);
		return;
	}
	connection->up.has_ended = connection->up.is_shut = true;
	(void)shutdown(connection->outer.fd, SHUT_WR);
	connection->deadline_ns = gateway->now_ns + ANSWERS_NS;
}

/* What is no request, or not in time. */
static void refuse_nonsense(struct gateway *gateway, struct connection *connection,
			    const char *status, const char *why)
{
	char rule[NET_NAME_SIZE];
	const struct refusal refusal = { .verb = "request",
					 .address = &connection->address,
					 .port = connection->port,
					 .rule = rule };

	(void)snprintf(rule, sizeof(rule), "no plain HTTP request: %s", why);
	report_refused(gateway, &refusal);
	close_refused(gateway, connection, status, rule);
}

void gate_too_slow(struct gateway *gateway, struct connection *connection)
{
	refuse_nonsense(gateway, connection, "408 Request Timeout", "it did not come in time");
}

/* A request that rules, or the way it is written, forbid. */
static void refuse_request(struct gateway *gateway, struct connection *connection,
			   const struct http_head *head, const struct judge_verdict *verdict)
{
	const char *rule = verdict->rule;
	char verb[PATH_SHOWN + 48], why[NET_NAME_SIZE + PATH_SHOWN + 96];
	struct refusal refusal = { .verb = verb,
				   .name = head->name[0] ? head->name : NULL,
				   .address = &connection->address,
				   .port = connection->port,
				   .rule = rule };
	size_t shown = strcspn(head->path, "? ");

	/* A query may hold secrets; the path is what rules are about. */
	if (shown > head->path_len)
		shown = head->path_len;
	if (shown > PATH_SHOWN)
		shown = PATH_SHOWN;
	(void)snprintf(verb, sizeof(verb), "%.*s %.*s of", (int)head->method_len, head->method,
		       (int)shown, head->path);
	(void)snprintf(why, sizeof(why), "%s %s: %s", verb,
		       head->name[0] ? head->name : "this address",
		       rule ? rule : "no rule permits it");
	report_refused(gateway, &refusal);
	close_refused(gateway, connection, verdict->status, why);
}

static bool is_method(const struct http_head *head, const char *method)
{
	return head->method_len == strlen(method) &&
	       memcmp(head->method, method, head->method_len) == 0;
}

static bool is_pinned(struct gateway *gateway, const struct connection *connection,
		      const char *name)
{
	const char *known;
	size_t at = 0;

	while ((known = pins_next(&gateway->pins, &connection->address, gateway->now_ns, &at))) {
		if (strcmp(known, name) == 0)
			return true;
	}
	return false;
}

/* Permitted by its address, and for a name without restrictions: any name will do. */
static bool is_free(struct gateway *gateway, const struct connection *connection, const char *name)
{
	const char *ignored;

	return name && !gate_judges_name(gateway, connection, name) &&
	       !gate_is_restricted(gateway, connection) &&
	       net_policy_address(gateway->policy, &connection->address, connection->port,
				  &ignored) == NET_ALLOWED;
}

/*
 * An HTTP/1.0 request without a Host is for the host that was dialled. Where rules are about requests it could be for
 * any of those that share the address.
 */
static bool judge_nameless(struct gateway *gateway, struct connection *connection)
{
	if (!gate_judges_port(gateway, connection->port))
		return true;
	refuse_nonsense(gateway, connection, "400 Bad Request", "no Host");
	return false;
}

/* Whether it may go on; else it has been refused. */
static bool judge(struct gateway *gateway, struct connection *connection,
		  const struct http_head *head)
{
	struct judge_place place = { .policy = gateway->policy,
				     .name = head->name[0] ? head->name : NULL,
				     .address = &connection->address,
				     .port = connection->port };
	/* What gets a secret goes to an address of its host, whatever other rules permit. */
	bool is_due = hand_over_adds_secret(gateway, place.name, connection->port);
	struct judge_verdict verdict;

	if (!head->has_host && !is_method(head, "CONNECT"))
		return judge_nameless(gateway, connection);
	place.is_right = place.name ? is_pinned(gateway, connection, place.name)
				    : net_address_equal(&head->address, &connection->address);
	place.is_free = !is_due && is_free(gateway, connection, place.name);
	place.wants_tls = is_due && !hand_over_takes_plain(gateway, place.name, connection->port);
	place.adds_secret = secret_of(gateway, place.name);
	judge_request(head, &place, &verdict);
	if (!verdict.passes)
		refuse_request(gateway, connection, head, &verdict);
	else if (connection->name)
		connection_is_for(connection, place.name);
	return verdict.passes;
}

/* Sends what is pending. 1 when all is gone, 0 when the server takes no more now, -1 on a reset. */
static int send_pending(struct gateway *gateway, struct connection *connection)
{
	struct requests *requests = &connection->requests;
	ssize_t sent;

	if (!requests->pending)
		return 1;
	sent = send(connection->outer.fd, requests->pending + requests->pending_at,
		    requests->pending_len - requests->pending_at, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	requests->pending_at += (size_t)sent;
	gateway->counts.sent_bytes += (uint64_t)sent;
	connection->active_ns = gateway->now_ns;
	if (requests->pending_at < requests->pending_len)
		return 0;
	gate_requests_done(requests);
	return 1;
}

static int send_bytes(struct gateway *gateway, struct connection *connection, const char *bytes,
		      size_t len)
{
	struct requests *requests = &connection->requests;

	requests->pending = xmalloc(len);
	memcpy(requests->pending, bytes, len);
	requests->pending_len = len;
	requests->pending_at = 0;
	return send_pending(gateway, connection);
}

/* Takes what was looked at out of the socket. */
static bool take(const struct connection *connection, char *bytes, size_t len)
{
	return recv(connection->inner.fd, bytes, len, MSG_DONTWAIT) == (ssize_t)len;
}

/* The first request of a connection decides which of them it is: no byte was taken yet. 0, or -1 on a reset. */
static int pass_head(struct gateway *gateway, struct connection *connection, char *bytes,
		     const struct http_head *head)
{
	struct requests *requests = &connection->requests;
	const struct secret *secret = secret_of(gateway, head->name);
	struct http_secret added;
	char out[HTTP_OUT_MAX];
	size_t len;
	int status;

	if (requests->count == 0 && head->name[0] &&
	    hand_over_adds_secret(gateway, head->name, connection->port)) {
		hand_over_mark(connection, head->name, false);
		return 0;
	}
	if (secret)
		added = (struct http_secret){ secret->name, secret->value };
	len = http_write(bytes, head, secret ? &added : NULL, out);
	if (!take(connection, bytes, head->len))
		return -1;
	requests->count++;
	requests->left = head->body == HTTP_LENGTH ? head->body_len : 0;
	requests->step = head->body == HTTP_CHUNKED ? STEP_CHUNK : STEP_HEAD;
	status = send_bytes(gateway, connection, out, len);
	explicit_bzero(out, sizeof(out));
	return status;
}

static void wait_for_more(struct gateway *gateway, struct connection *connection, size_t have)
{
	if (!connection->hello_ns)
		connection->hello_ns = gateway->now_ns + HEAD_NS;
	gate_wait_for(connection, have + 1);
}

/* 1: one step further; 0: wait, or refused; -1: reset. */
static int step_head(struct gateway *gateway, struct connection *connection, char *bytes,
		     size_t have)
{
	struct http_head head;

	switch (http_read(bytes, have, &head)) {
	case HTTP_WHOLE:
		connection->hello_ns = 0;
		gate_wait_for(connection, 1);
		return judge(gateway, connection, &head)
			       ? pass_head(gateway, connection, bytes, &head)
			       : 0;
	case HTTP_MORE:
		wait_for_more(gateway, connection, have);
		return 0;
	case HTTP_TOO_LARGE:
		refuse_nonsense(gateway, connection, "431 Request Header Fields Too Large",
				"its head is too large");
		return 0;
	case HTTP_BAD:
		break;
	}
	if (bytes[0] == TLS_HANDSHAKE)
		head.why = connection->port.number == NET_TLS_PORT ? GATE_LATE_RULE : "it is TLS";
	refuse_nonsense(gateway, connection, "400 Bad Request", head.why);
	return 0;
}

/* The end of a line that has nothing in it. */
static enum http_state read_end(const char *bytes, size_t have)
{
	if (memcmp(bytes, "\r\n", have < 2 ? have : 2) != 0)
		return HTTP_BAD;
	return have < 2 ? HTTP_MORE : HTTP_WHOLE;
}

/* What follows a piece of a chunked body; SIZE is that of a chunk. */
static enum request_step step_behind(enum request_step step, uint64_t size)
{
	if (step == STEP_CHUNK)
		return size ? STEP_CHUNK_END : STEP_BODY_END;
	return step == STEP_CHUNK_END ? STEP_CHUNK : STEP_HEAD;
}

static int step_chunk(struct gateway *gateway, struct connection *connection, char *bytes,
		      size_t have)
{
	struct requests *requests = &connection->requests;
	uint64_t size = 0;
	size_t len = 2;
	enum http_state state = requests->step == STEP_CHUNK
					? http_read_chunk(bytes, have, &size, &len)
					: read_end(bytes, have);

	if (state == HTTP_MORE) {
		wait_for_more(gateway, connection, have);
		return 0;
	}
	if (state != HTTP_WHOLE) {
		refuse_nonsense(gateway, connection, "400 Bad Request",
				"a chunk that is none, or has more than a size");
		return 0;
	}
	connection->hello_ns = 0;
	gate_wait_for(connection, 1);
	if (!take(connection, bytes, len))
		return -1;
	requests->step = step_behind(requests->step, size);
	requests->left = size;
	return send_bytes(gateway, connection, bytes, len);
}

/* Looks at what comes next behind a body, without taking it. */
static int step(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	char bytes[HTTP_HEAD_MAX];
	ssize_t got = recv(connection->inner.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	bool is_cut = events & (EPOLLRDHUP | EPOLLHUP);
	int status;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (got == 0) {
		connection->up.has_ended = true;
		return connection->requests.step == STEP_HEAD ? 0 : -1;
	}
	if (connection->requests.step == STEP_HEAD && leaves_for_tls(gateway, connection, bytes[0]))
		return 0;
	if (gate_is_barred(connection, events, got)) {
		refuse_nonsense(gateway, connection, "400 Bad Request", "urgent bytes in it");
		return 0;
	}
	status = connection->requests.step == STEP_HEAD
			 ? step_head(gateway, connection, bytes, (size_t)got)
			 : step_chunk(gateway, connection, bytes, (size_t)got);
	if (status == 0 && is_cut && connection->hello_ns) {
		refuse_nonsense(gateway, connection, "400 Bad Request", "it ends in the middle");
		return 0;
	}
	return status;
}

int gate_requests(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	struct requests *requests = &connection->requests;

	for (int i = 0; i < STEPS_PER_ROUND && !connection->is_closing; i++) {
		int status = send_pending(gateway, connection);

		if (status <= 0)
			return status;
		if (stream_pump(gateway, connection, &connection->up) < 0)
			return -1;
		if (requests->left > 0 || connection->up.held > 0 || connection->up.has_ended)
			return 0;
		status = step(gateway, connection, events);
		if (status < 0)
			return -1;
		if (status == 0 && !connection->up.has_ended)
			return 0;
	}
	return 0;
}

bool gate_discard(struct connection *connection)
{
	char bytes[16384];

	for (int i = 0; i < DISCARDS_PER_ROUND; i++) {
		ssize_t got = recv(connection->inner.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		connection->has_left |= got <= 0;
		if (got <= 0)
			break;
	}
	return connection->has_left;
}
