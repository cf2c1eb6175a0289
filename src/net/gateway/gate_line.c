/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line of a plain connection that only a name permits: where it is a request's, each request must be for that
 * name (gate_http.c). Clients send such a line at once. A line that stays unfinished for a moment is some other protocol's
 * and goes on as it comes; it only must not turn out to be a request's after all.
 */
#include "net/gateway/connection.h"
#include "net/rule/http.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/epoll.h>

#define UNFINISHED_NS SECOND_NS
#define PIECES_PER_ROUND 16
/* No server takes a longer line for a request's. */
#define LINE_MAX_BYTES (4u << 20)

static void refuse_line(struct gateway *gateway, struct connection *connection, const char *why)
{
	const struct refusal refusal = { .verb = "connect",
					 .name = connection->name,
					 .address = &connection->address,
					 .port = connection->port,
					 .rule = why };

	report_refused(gateway, &refusal);
	connection_end(gateway, connection, true);
}

/* Whether the bytes, which lie in front of an urgent one, begin as requests do. */
static bool begins_a_method(const uint8_t *bytes, size_t len)
{
	static const char *const methods[] = { "GET",	  "HEAD",     "POST",  "PUT",
					       "DELETE",  "PATCH",    "TRACE", "OPTIONS",
					       "CONNECT", "PROPFIND", "PRI" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		size_t size = strlen(methods[i]);

		if (strncasecmp((const char *)bytes, methods[i], len < size ? len : size) == 0)
			return true;
	}
	return memchr(bytes, ' ', len) || memchr(bytes, '\t', len);
}

void gate_inspect_line(struct gateway *gateway, struct connection *connection, const uint8_t *bytes,
		       size_t got, uint32_t events)
{
	bool is_last = events & (EPOLLRDHUP | EPOLLHUP);

	switch (http_begins((const char *)bytes, got)) {
	case HTTP_WHOLE:
		gate_limit(connection, GATE_HTTP);
		return;
	case HTTP_BAD:
		gate_let_through(connection);
		return;
	case HTTP_TOO_LARGE:
		gate_limit(connection, GATE_LINE);
		return;
	case HTTP_MORE:
		break;
	}
	if (gate_is_barred(connection, events, (ssize_t)got)) {
		/* What lies behind an urgent byte cannot be looked at. */
		if (begins_a_method(bytes, got))
			refuse_line(gateway, connection, "urgent bytes in a request");
		else
			gate_let_through(connection);
		return;
	}
	if (is_last) {
		gate_limit(connection, GATE_LINE);
		return;
	}
	if (!connection->is_plain)
		connection->hello_ns = gateway->now_ns + UNFINISHED_NS;
	connection->is_plain = true;
	gate_wait_for(connection, got + 1);
}

#define VERSION " http/"

/* How much of VERSION the bytes so far end in, however the letters are written. */
static unsigned follow_version(unsigned matched, char c)
{
	if (c == ' ' || c == '\t')
		return 1;
	return matched > 0 && matched < sizeof(VERSION) - 1 && (c | 0x20) == VERSION[matched]
		       ? matched + 1
		       : 0;
}

enum line_end { LINE_GOES_ON, LINE_ENDS, LINE_IS_REQUEST };

static enum line_end scan_line(struct connection *connection, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		/* Empty lines in front of a request are skipped by servers. */
		if (bytes[i] == '\0' || (bytes[i] == '\n' && connection->line_bytes > 0))
			return LINE_ENDS;
		if (bytes[i] == '\n' || bytes[i] == '\r')
			continue;
		connection->line_bytes++;
		connection->version_bytes = follow_version(connection->version_bytes, bytes[i]);
		if (connection->version_bytes == sizeof(VERSION) - 1)
			return LINE_IS_REQUEST;
	}
	return connection->line_bytes > LINE_MAX_BYTES ? LINE_ENDS : LINE_GOES_ON;
}

/* Looks at what came next of the line: 1, or 0 when nothing did. The line ends with the sender's last byte. */
static int peek_line(struct connection *connection, enum line_end *ret_end)
{
	char bytes[16384];
	ssize_t got = recv(connection->inner.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	*ret_end = scan_line(connection, bytes, (size_t)got);
	if (*ret_end == LINE_GOES_ON) {
		connection->requests.left = (uint64_t)got;
		if (got == 0)
			*ret_end = LINE_ENDS;
	}
	return 1;
}

int gate_line(struct gateway *gateway, struct connection *connection)
{
	enum line_end end;

	for (int i = 0; i < PIECES_PER_ROUND; i++) {
		int status = stream_pump(gateway, connection, &connection->up);

		if (status < 0 || connection->requests.left > 0 || connection->up.held > 0 ||
		    connection->up.has_ended)
			return status < 0 ? -1 : 0;
		status = peek_line(connection, &end);
		if (status <= 0)
			return status;
		if (end == LINE_IS_REQUEST) {
			refuse_line(gateway, connection, "a request line that came in pieces");
			return 0;
		}
		if (end == LINE_ENDS) {
			gate_let_through(connection);
			return stream_pump(gateway, connection, &connection->up);
		}
	}
	return 0;
}
