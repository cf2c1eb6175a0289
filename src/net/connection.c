/* TCP through the gateway: decide, dial the decided address, splice both ways, pass on ends and resets. */
#include "base/own.h"
#include "net/gateway_parts.h"
#include "net/sni.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_PER_ROUND 16
#define SPLICES_PER_ROUND 16
#define PIPE_BYTES (512u << 10)
#define CHUNK (1u << 20)
#define CONNECT_NS (20 * SECOND_NS)
#define HELLO_NS (10 * SECOND_NS)
/* Nothing moved for so long: a peer that does not take what is sent, or closed one side and forgot the other. */
#define STUCK_NS (300 * SECOND_NS)
#define IDLE_NS (7200 * SECOND_NS)

struct flow {
	struct source *from, *to;
	struct pipe_ends pipe;
	bool has_pipe, has_ended, is_shut;
	size_t held; /* bytes in the pipe */
	uint64_t *counter;
};

struct connection {
	struct source inner, outer; /* of the one who connects, and of the one who is reached */
	struct connection *next, *previous;
	struct flow up, down;
	struct net_address address;
	struct net_port port;
	bool is_connected;
	bool is_gated; /* its first bytes must be looked at */
	bool is_published;
	bool is_dead;
	uint64_t deadline_ns; /* to be connected by; 0: none */
	uint64_t hello_ns;    /* to have said all of its ClientHello by; 0: none was begun */
	uint64_t active_ns;
};

static bool take_pipe(struct gateway *gateway, struct flow *flow)
{
	if (flow->has_pipe)
		return true;
	if (gateway->pipe_count > 0) {
		flow->pipe = gateway->pipes[--gateway->pipe_count];
	} else {
		if (pipe2(flow->pipe.fds, O_CLOEXEC | O_NONBLOCK) < 0)
			return false;
		/* More at a time where the user may have that much; else as it is. */
		(void)fcntl(flow->pipe.fds[0], F_SETPIPE_SZ, PIPE_BYTES);
	}
	flow->has_pipe = true;
	return true;
}

/* Only an empty one can serve another connection. */
static void give_pipe(struct gateway *gateway, struct flow *flow)
{
	if (!flow->has_pipe)
		return;
	flow->has_pipe = false;
	if (flow->held == 0 && gateway->pipe_count < PIPES_KEPT) {
		gateway->pipes[gateway->pipe_count++] = flow->pipe;
		return;
	}
	close(flow->pipe.fds[0]);
	close(flow->pipe.fds[1]);
}

static void reset_on_close(int fd)
{
	const struct linger linger = { 1, 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* A socket of the sandbox's network cannot be made here: it is used again. */
static void recycle_dial(struct gateway *gateway, struct connection *connection)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };

	(void)source_watch(gateway, &connection->outer, 0);
	if (connect(connection->outer.fd, &nobody, sizeof(nobody)) == 0)
		gateway->dials[gateway->dial_count++] = fd_take(&connection->outer.fd);
}

/* Ends it; with RESET both peers see that something broke. */
static void end(struct gateway *gateway, struct connection *connection, bool reset)
{
	if (connection->is_dead)
		return;
	if (reset) {
		reset_on_close(connection->inner.fd);
		if (!connection->is_published && connection->outer.fd >= 0)
			reset_on_close(connection->outer.fd);
	}
	give_pipe(gateway, &connection->up);
	give_pipe(gateway, &connection->down);
	if (connection->is_published && connection->outer.fd >= 0)
		recycle_dial(gateway, connection);
	source_close(gateway, &connection->inner);
	source_close(gateway, &connection->outer);
	connection->is_dead = true;
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		gateway->connections = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	gateway->connection_count--;
	connection->next = gateway->dead_connections;
	gateway->dead_connections = connection;
}

void connection_sweep(struct gateway *gateway)
{
	while (gateway->dead_connections) {
		struct connection *connection = gateway->dead_connections;

		gateway->dead_connections = connection->next;
		free(connection);
	}
}

/* Fills the pipe when it is empty. 1 when there are bytes to pass on, 0 when not, -1 on a reset. */
static int fill(struct gateway *gateway, struct flow *flow)
{
	ssize_t got;

	if (flow->held > 0)
		return 1;
	if (flow->has_ended)
		return 0;
	if (!take_pipe(gateway, flow))
		return -1;
	got = splice(flow->from->fd, NULL, flow->pipe.fds[1], NULL, CHUNK,
		     SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	flow->has_ended = got == 0;
	flow->held = (size_t)got;
	return got > 0;
}

/* Moves what can be moved. 0, or -1 on a reset. */
static int pump(struct gateway *gateway, struct connection *connection, struct flow *flow)
{
	int filled = 1;

	for (int i = 0; i < SPLICES_PER_ROUND && (filled = fill(gateway, flow)) > 0; i++) {
		ssize_t sent = splice(flow->pipe.fds[0], NULL, flow->to->fd, NULL, flow->held,
				      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (sent <= 0)
			break;
		flow->held -= (size_t)sent;
		*flow->counter += (uint64_t)sent;
		connection->active_ns = gateway->now_ns;
	}
	if (filled < 0)
		return -1;
	if (flow->held == 0)
		give_pipe(gateway, flow);
	if (flow->has_ended && flow->held == 0 && !flow->is_shut) {
		flow->is_shut = true;
		(void)shutdown(flow->to->fd, SHUT_WR);
		connection->active_ns = gateway->now_ns;
	}
	return 0;
}

static int watch(struct gateway *gateway, struct connection *connection)
{
	const struct flow *up = &connection->up, *down = &connection->down;
	uint32_t inner = 0, outer = 0;

	if (connection->is_gated)
		inner |= EPOLLIN | EPOLLRDHUP;
	else if (connection->is_connected && !up->has_ended && up->held == 0)
		inner |= EPOLLIN;
	if (down->held > 0)
		inner |= EPOLLOUT;
	if (!connection->is_connected || up->held > 0)
		outer |= EPOLLOUT;
	if (connection->is_connected && !down->has_ended && down->held == 0)
		outer |= EPOLLIN;
	if (source_watch(gateway, &connection->inner, inner) < 0)
		return -1;
	return source_watch(gateway, &connection->outer, outer);
}

static void tell_upstream(struct gateway *gateway, const struct connection *connection, int errnum)
{
	struct decision decision;
	struct refusal refusal = { .verb = "connect",
				   .address = &connection->address,
				   .port = connection->port };

	if (connection->is_published)
		return;
	decide(gateway, &connection->address, connection->port, &decision);
	refusal.name = decision.name;
	tell_failed(gateway, &refusal, strerror(errnum));
}

static void let_through(struct connection *connection)
{
	int one = 1;

	connection->is_gated = false;
	connection->hello_ns = 0;
	(void)setsockopt(connection->inner.fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
}

static void refuse_hello(struct gateway *gateway, struct connection *connection, const char *name)
{
	const struct refusal refusal = {
		.verb = "connect",
		.name = name,
		.address = &connection->address,
		.port = connection->port,
		.rule = name ? "TLS asks for another name than was dialled"
			     : "TLS without a name, where a rule permits a name",
	};

	tell_refused(gateway, &refusal);
	end(gateway, connection, true);
}

/* Looks at the first bytes without taking them. Nothing of them goes out before that. */
static void inspect(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	uint8_t bytes[SNI_BYTES_MAX];
	char name[NET_NAME_SIZE];
	ssize_t got = recv(connection->inner.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	int more = (int)got + 1;

	if (got < 0) {
		if (errno != EAGAIN && errno != EINTR)
			end(gateway, connection, true);
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
		if (decide_name(gateway, &connection->address, connection->port, name))
			let_through(connection);
		else
			refuse_hello(gateway, connection, name);
		return;
	case SNI_MORE:
		if (events & (EPOLLRDHUP | EPOLLHUP))
			break;
		if (!connection->hello_ns)
			connection->hello_ns = gateway->now_ns + HELLO_NS;
		(void)setsockopt(connection->inner.fd, SOL_SOCKET, SO_RCVLOWAT, &more,
				 sizeof(more));
		return;
	case SNI_ABSENT:
	case SNI_BROKEN:
		break;
	}
	refuse_hello(gateway, connection, NULL);
}

static void finish_connect(struct gateway *gateway, struct connection *connection)
{
	socklen_t size = sizeof(int);
	int failure = 0;

	(void)getsockopt(connection->outer.fd, SOL_SOCKET, SO_ERROR, &failure, &size);
	if (failure) {
		tell_upstream(gateway, connection, failure);
		end(gateway, connection, true);
		return;
	}
	connection->is_connected = true;
	connection->deadline_ns = 0;
	connection->active_ns = gateway->now_ns;
}

void connection_step(struct gateway *gateway, struct source *side, uint32_t events)
{
	struct connection *connection = side->owner;

	if (side == &connection->outer && !connection->is_connected)
		finish_connect(gateway, connection);
	if (!connection->is_dead && side == &connection->inner && connection->is_gated)
		inspect(gateway, connection, events);
	if (connection->is_dead)
		return;
	if (connection->is_connected &&
	    (pump(gateway, connection, &connection->down) < 0 ||
	     (!connection->is_gated && pump(gateway, connection, &connection->up) < 0))) {
		end(gateway, connection, true);
		return;
	}
	if (connection->up.is_shut && connection->down.is_shut)
		end(gateway, connection, false);
	else if (events & EPOLLERR || watch(gateway, connection) < 0)
		end(gateway, connection, true);
}

static struct connection *add(struct gateway *gateway, int inner_fd, int outer_fd)
{
	struct connection *connection = xcalloc(1, sizeof(*connection));

	connection->inner =
		(struct source){ .kind = SOURCE_CONNECTION, .fd = inner_fd, .owner = connection };
	connection->outer =
		(struct source){ .kind = SOURCE_CONNECTION, .fd = outer_fd, .owner = connection };
	connection->up = (struct flow){ .from = &connection->inner,
					.to = &connection->outer,
					.counter = &gateway->counts.sent_bytes };
	connection->down = (struct flow){ .from = &connection->outer,
					  .to = &connection->inner,
					  .counter = &gateway->counts.received_bytes };
	connection->deadline_ns = gateway->now_ns + CONNECT_NS;
	connection->active_ns = gateway->now_ns;
	connection->next = gateway->connections;
	if (connection->next)
		connection->next->previous = connection;
	gateway->connections = connection;
	gateway->connection_count++;
	return connection;
}

static void set_options(int fd)
{
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static void dial(struct gateway *gateway, struct connection *connection,
		 const struct net_address *address, uint16_t port)
{
	struct sockaddr_storage to;
	socklen_t len = net_address_to(address, port, &to);

	set_options(connection->inner.fd);
	set_options(connection->outer.fd);
	if (connect(connection->outer.fd, (struct sockaddr *)&to, len) < 0 &&
	    errno != EINPROGRESS) {
		tell_upstream(gateway, connection, errno);
		end(gateway, connection, true);
		return;
	}
	if (watch(gateway, connection) < 0)
		end(gateway, connection, true);
}

static void refuse(struct gateway *gateway, int fd, const struct refusal *refusal)
{
	tell_refused(gateway, refusal);
	reset_on_close(fd);
}

static void take_connection(struct gateway *gateway, struct source *listener, int accepted_fd)
{
	owned(fd_close) int fd = accepted_fd;
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);
	struct net_address address;
	struct net_port port = { false, listener->port };
	struct refusal refusal = { .verb = "connect", .address = &address, .port = port };
	struct decision decision;

	if (getsockname(fd, (struct sockaddr *)&local, &len) < 0 ||
	    !net_address_from(&local, &address, NULL)) {
		reset_on_close(fd);
		return;
	}
	decide(gateway, &address, port, &decision);
	refusal.name = decision.name;
	refusal.rule = decision.rule;
	if (decision.passes && gateway->connection_count >= gateway->connection_max)
		refusal.rule = "too many connections at a time";
	if (!decision.passes || refusal.rule) {
		refuse(gateway, fd, &refusal);
		return;
	}
	int outer = socket(decision.dial.is_v6 ? AF_INET6 : AF_INET,
			   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (outer < 0) {
		tell_failed(gateway, &refusal, strerror(errno));
		reset_on_close(fd);
		return;
	}
	struct connection *connection = add(gateway, fd_take(&fd), outer);

	connection->address = address;
	connection->port = port;
	connection->is_gated = decision.by_name;
	gateway->counts.connections++;
	dial(gateway, connection, &decision.dial, port.number);
}

void connection_accept(struct gateway *gateway, struct source *listener)
{
	for (int i = 0; i < ACCEPTS_PER_ROUND; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		take_connection(gateway, listener, fd);
	}
}

/* From the host's loopback to a server inside. */
void connection_publish(struct gateway *gateway, struct source *listener)
{
	owned(fd_close) int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct net_address loopback;

	if (fd < 0)
		return;
	if (gateway->dial_count == 0 || !net_address_parse("127.0.0.1", &loopback)) {
		reset_on_close(fd);
		return;
	}
	struct connection *connection =
		add(gateway, fd_take(&fd), gateway->dials[--gateway->dial_count]);

	connection->is_published = true;
	connection->address = loopback;
	connection->port.number = listener->port;
	dial(gateway, connection, &loopback, listener->port);
}

static bool is_old(const struct gateway *gateway, const struct connection *connection)
{
	bool is_stuck = connection->up.held || connection->down.held || connection->up.is_shut ||
			connection->down.is_shut;
	uint64_t quiet_ns = gateway->now_ns - connection->active_ns;

	if (connection->deadline_ns && gateway->now_ns >= connection->deadline_ns)
		return true;
	if (connection->hello_ns && gateway->now_ns >= connection->hello_ns)
		return true;
	return quiet_ns >= (is_stuck ? STUCK_NS : IDLE_NS);
}

void connection_expire(struct gateway *gateway)
{
	struct connection *next;

	for (struct connection *at = gateway->connections; at; at = next) {
		next = at->next;
		if (!is_old(gateway, at))
			continue;
		if (!at->is_connected)
			tell_upstream(gateway, at, ETIMEDOUT);
		end(gateway, at, true);
	}
}
