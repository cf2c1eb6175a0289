/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of a connection that only a name permits: TLS must ask for that name, and each plain request be for it
 * (gate_http.c). So must a second ClientHello, where
 * the server wants one: some take its name for the right one.
 */
#include "net/gateway/connection.h"
#include "net/rule/sni.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define HELLO_NS (10 * SECOND_NS)
#define RECORDS_PER_ROUND 16

void gate_wait_for(struct connection *connection, size_t bytes)
{
	int least = (int)bytes;

	connection->awaited = bytes;
	(void)setsockopt(connection->inner.fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
}

bool gate_is_barred(const struct connection *connection, uint32_t events, ssize_t got)
{
	return events & EPOLLIN && !(events & (EPOLLRDHUP | EPOLLHUP)) && got > 0 &&
	       (size_t)got < connection->awaited;
}

void gate_let_through(struct connection *connection)
{
	connection->gate = GATE_OPEN;
	connection->up.limit = NULL;
	connection->hello_ns = 0;
	gate_wait_for(connection, 1);
}

void gate_limit(struct connection *connection, enum gate gate)
{
	connection->gate = gate;
	connection->up.limit = &connection->requests.left;
	connection->hello_ns = 0;
	gate_wait_for(connection, 1);
}

/* The hello goes on, and nothing behind it. */
static void let_hello_through(struct connection *connection, const struct sni_hello *hello)
{
	connection_is_for(connection, hello->name);
	connection->is_tls = true;
	connection->requests.left = hello->len;
	gate_limit(connection, GATE_ANSWER);
}

static void refuse_hello(struct gateway *gateway, struct connection *connection, const char *name)
{
	const struct refusal refusal = {
		.verb = "connect",
		.name = name,
		.address = &connection->address,
		.port = connection->port,
		.rule = !name ? "TLS without a name, where a rule permits a name"
			: !decide_name(gateway, &connection->address, connection->port, name)
				? "TLS asks for another name than was dialled"
			: connection->port.number == NET_TLS_PORT
				? GATE_LATE_RULE
				: "TLS, where a rule is about plain requests",
	};

	report_refused(gateway, &refusal);
	connection_end(gateway, connection, true);
}

static void wait_for_more(struct gateway *gateway, struct connection *connection, ssize_t got)
{
	if (!connection->hello_ns)
		connection->hello_ns = gateway->now_ns + HELLO_NS;
	gate_wait_for(connection, (size_t)got + 1);
}

/* A client that has left behind its hello is kept only as long as the server may need to answer. */
static void note_leaving(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	if (events & (EPOLLRDHUP | EPOLLHUP) && !connection->hello_ns)
		connection->hello_ns = gateway->now_ns + HELLO_NS;
}

/* One that names its server: passed on, handed over, or refused. */
static void inspect_hello(struct gateway *gateway, struct connection *connection,
			  const struct sni_hello *hello)
{
	bool is_right = decide_name(gateway, &connection->address, connection->port, hello->name);

	if (is_right && hand_over_is_due(gateway, hello->name, connection->port)) {
		hand_over_mark(connection, hello->name, true);
		return;
	}
	/* Where requests are judged, TLS would hide them; by whatever address that host is dialled. */
	if ((!is_right && connection->must_say_name) ||
	    gate_judges_name(gateway, connection, hello->name)) {
		refuse_hello(gateway, connection, hello->name);
		return;
	}
	connection->is_by_address = !connection->must_say_name;
	let_hello_through(connection, hello);
}

void gate_inspect(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	uint8_t bytes[SNI_BYTES_MAX];
	struct sni_hello hello;
	ssize_t got;

	if (connection->gate == GATE_ANSWER) {
		note_leaving(gateway, connection, events);
		return;
	}
	got = recv(connection->inner.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (got < 0) {
		if (errno != EAGAIN && errno != EINTR)
			connection_end(gateway, connection, true);
		return;
	}
	if (got == 0) {
		gate_let_through(connection);
		return;
	}
	switch (sni_read(bytes, (size_t)got, &hello)) {
	case SNI_NOT_TLS:
		gate_inspect_line(gateway, connection, bytes, (size_t)got, events);
		return;
	case SNI_NAME:
		inspect_hello(gateway, connection, &hello);
		return;
	case SNI_MORE:
		if (events & (EPOLLRDHUP | EPOLLHUP) || gate_is_barred(connection, events, got))
			break;
		wait_for_more(gateway, connection, got);
		return;
	case SNI_ABSENT:
		if (connection->must_say_name)
			break;
		connection->is_tls = true;
		gate_let_through(connection);
		return;
	case SNI_BROKEN:
		break;
	}
	refuse_hello(gateway, connection, NULL);
}

void gate_handle(struct connection *connection)
{
	uint8_t bytes[SNI_ANSWER_BYTES] = { 0 };
	ssize_t got = recv(connection->outer.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	int enough = SNI_ANSWER_BYTES;
	size_t ignored;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Woken for less than was waited for: it ends, or hides something behind an urgent byte, which is its own affair. */
	if (got > 0 && got < SNI_ANSWER_BYTES && sni_is_handshake(bytes, &ignored) &&
	    !(connection->awaits_answer && connection->down.is_ready)) {
		connection->awaits_answer = true;
		(void)setsockopt(connection->outer.fd, SOL_SOCKET, SO_RCVLOWAT, &enough,
				 sizeof(enough));
		return;
	}
	enough = 1;
	(void)setsockopt(connection->outer.fd, SOL_SOCKET, SO_RCVLOWAT, &enough, sizeof(enough));
	if (got < SNI_ANSWER_BYTES || !sni_asks_again(bytes)) {
		gate_let_through(connection);
		return;
	}
	connection->gate = GATE_AGAIN;
	connection->hello_ns = 0;
}

/* One record, or the hello, which is the last that is looked at. Whether it goes on. */
static bool pass_record(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	uint8_t bytes[SNI_BYTES_MAX];
	ssize_t got = recv(connection->inner.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	enum sni found = SNI_MORE;
	struct sni_hello hello;
	size_t len;

	if (got < 0)
		return false;
	if (got >= SNI_RECORD_HEADER && !sni_is_handshake(bytes, &len)) {
		connection->requests.left = len;
		return true;
	}
	if (got >= SNI_RECORD_HEADER)
		found = sni_read(bytes, (size_t)got, &hello);
	if (got == 0 || (found == SNI_NAME && strcmp(hello.name, connection->name) == 0)) {
		gate_let_through(connection);
		return true;
	}
	if (found == SNI_MORE && !(events & (EPOLLRDHUP | EPOLLHUP)) &&
	    !gate_is_barred(connection, events, got))
		wait_for_more(gateway, connection, got);
	else
		refuse_hello(gateway, connection, found == SNI_NAME ? hello.name : NULL);
	return false;
}

int gate_again(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	for (int i = 0; i < RECORDS_PER_ROUND; i++) {
		if (stream_pump(gateway, connection, &connection->up) < 0)
			return -1;
		if (connection->gate == GATE_OPEN || connection->requests.left > 0 ||
		    connection->up.held > 0 || connection->up.has_ended)
			return 0;
		if (!pass_record(gateway, connection, events))
			return 0;
	}
	return 0;
}
