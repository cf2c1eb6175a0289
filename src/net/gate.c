/* The first bytes of a connection that only a name permits: TLS must ask for that name. */
#include "net/connection.h"
#include "net/sni.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define HELLO_NS (10 * SECOND_NS)

void gate_wait_for(const struct connection *connection, int bytes)
{
	(void)setsockopt(connection->inner.fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

static void let_through(struct connection *connection)
{
	connection->gate = GATE_OPEN;
	connection->hello_ns = 0;
	gate_wait_for(connection, 1);
}

static void refuse_hello(struct gateway *gateway, struct connection *connection, const char *name)
{
	const struct refusal refusal = {
		.verb = "connect",
		.name = name,
		.address = &connection->address,
		.port = connection->port,
		.rule = !name ? "TLS without a name, where a rule permits a name"
			: gate_judges_name(gateway, connection, name)
				? "TLS, where a rule is about plain requests"
				: "TLS asks for another name than was dialled",
	};

	tell_refused(gateway, &refusal);
	connection_end(gateway, connection, true);
}

void gate_inspect(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	uint8_t bytes[SNI_BYTES_MAX];
	char name[NET_NAME_SIZE];
	ssize_t got = recv(connection->inner.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	if (got < 0) {
		if (errno != EAGAIN && errno != EINTR)
			connection_end(gateway, connection, true);
		return;
	}
	if (got == 0) {
		let_through(connection);
		return;
	}
	switch (sni_read(bytes, (size_t)got, name)) {
	case SNI_NOT_TLS:
		let_through(connection);
		return;
	case SNI_NAME:
		/* Where requests are judged, nobody hides them in TLS. */
		if (!decide_name(gateway, &connection->address, connection->port, name) ||
		    gate_judges_name(gateway, connection, name)) {
			refuse_hello(gateway, connection, name);
			return;
		}
		connection_is_for(connection, name);
		connection->is_tls = true;
		let_through(connection);
		return;
	case SNI_MORE:
		if (events & (EPOLLRDHUP | EPOLLHUP))
			break;
		if (!connection->hello_ns)
			connection->hello_ns = gateway->now_ns + HELLO_NS;
		gate_wait_for(connection, (int)got + 1);
		return;
	case SNI_ABSENT:
	case SNI_BROKEN:
		break;
	}
	refuse_hello(gateway, connection, NULL);
}
