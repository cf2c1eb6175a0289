/* SPDX-License-Identifier: Apache-2.0 */
/* TCP through the gateway: decide, dial the decided address, splice both ways, pass on ends and resets. */
#include "base/core/error.h"
#include "base/core/own.h"
#include "net/gateway/connection.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_PER_ROUND 16
#define CONNECT_NS (20 * SECOND_NS)
/* Nothing moved for so long: a peer that does not take what is sent, or closed one side and forgot the other. */
#define STUCK_NS (300 * SECOND_NS)
#define IDLE_NS (7200 * SECOND_NS)

static void reset_on_close(int fd)
{
	const struct linger linger = { 1, 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* A socket of the sandbox's network cannot be made here: it is used again. */
static void recycle_dial(struct gateway *gateway, struct connection *connection)
{
	const struct sockaddr no_peer = { .sa_family = AF_UNSPEC };

	(void)source_watch(gateway, &connection->outer, 0);
	if (connect(connection->outer.fd, &no_peer, sizeof(no_peer)) == 0)
		gateway->dials[gateway->dial_count++] = fd_take(&connection->outer.fd);
}

void connection_end(struct gateway *gateway, struct connection *connection, bool reset)
{
	if (connection->is_dead)
		return;
	if (reset) {
		reset_on_close(connection->inner.fd);
		if (!connection->is_published && connection->outer.fd >= 0)
			reset_on_close(connection->outer.fd);
	}
	stream_stop(gateway, &connection->up);
	stream_stop(gateway, &connection->down);
	gate_requests_done(&connection->requests);
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

void connection_is_for(struct connection *connection, const char *name)
{
	free(connection->name);
	connection->name = name ? xstrdup(name) : NULL;
	connection->is_name_said = true;
}

void connection_sweep(struct gateway *gateway)
{
	while (gateway->dead_connections) {
		struct connection *connection = gateway->dead_connections;

		gateway->dead_connections = connection->next;
		free(connection->name);
		free(connection);
	}
}

/* What the client side is waited for. */
static uint32_t inner_events(const struct connection *connection)
{
	const struct flow *up = &connection->up;
	uint32_t events = connection->down.held > 0 ? EPOLLOUT : 0;

	if (connection->is_closing)
		return events | (connection->has_left ? 0 : EPOLLIN);
	if (connection->gate == GATE_TLS)
		return events | EPOLLIN | EPOLLRDHUP;
	/* All of the hello is gone: only that the client leaves is of interest, once. */
	if (connection->gate == GATE_ANSWER && connection->is_connected && !up->held &&
	    !connection->requests.left)
		return events | (connection->hello_ns ? 0 : EPOLLRDHUP);
	if (!connection->is_connected || connection->gate == GATE_TLS_GATEWAY || up->has_ended ||
	    up->held > 0 || connection->requests.pending)
		return events;
	return events | EPOLLIN |
	       (connection->gate == GATE_HTTP || connection->gate == GATE_AGAIN ? EPOLLRDHUP : 0);
}

static uint32_t outer_events(const struct connection *connection)
{
	const struct flow *down = &connection->down;

	if (!connection->is_connected)
		return connection->tunnel.has_asked ? EPOLLIN : EPOLLOUT;
	return (connection->up.held > 0 || connection->requests.pending ? EPOLLOUT : 0) |
	       (!down->has_ended && down->held == 0 ? EPOLLIN : 0);
}

/*
 * A client from which nothing is read now may reset its connection all the same, which a server that does not read would
 * never show. Reported once each: level-triggered, an end that cannot be taken yet would be reported for ever.
 */
static int watch(struct gateway *gateway, struct connection *connection)
{
	uint32_t events = inner_events(connection);

	if (source_watch(gateway, &connection->inner, events ? events : EPOLLET) < 0)
		return -1;
	return connection->outer.fd < 0
		       ? 0
		       : source_watch(gateway, &connection->outer, outer_events(connection));
}

static void notify_upstream(struct gateway *gateway, const struct connection *connection,
			    int errnum)
{
	struct decision decision;
	struct refusal refusal = { .verb = "connect",
				   .address = &connection->address,
				   .port = connection->port };

	if (connection->is_published)
		return;
	if (connection->proxy) {
		proxy_report(gateway, connection, error_words(errnum));
		return;
	}
	decide(gateway, &connection->address, connection->port, &decision);
	refusal.name = decision.name;
	report_failed(gateway, &refusal, error_words(errnum));
}

static void finish_connect(struct gateway *gateway, struct connection *connection)
{
	socklen_t size = sizeof(int);
	int failure = 0;

	(void)getsockopt(connection->outer.fd, SOL_SOCKET, SO_ERROR, &failure, &size);
	if (failure) {
		notify_upstream(gateway, connection, failure);
		connection_end(gateway, connection, true);
		return;
	}
	if (connection->proxy && !proxy_step(gateway, connection))
		return;
	connection->is_connected = true;
	connection->deadline_ns = 0;
	connection->active_ns = gateway->now_ns;
}

/* 0, or -1 when it must be reset. */
static int move_bytes(struct gateway *gateway, struct connection *connection, uint32_t events)
{
	if (!connection->is_connected)
		return 0;
	if (connection->gate == GATE_ANSWER)
		gate_handle(connection);
	if (connection->outer.fd >= 0 && connection->gate != GATE_ANSWER &&
	    connection->gate != GATE_TLS_GATEWAY &&
	    stream_pump(gateway, connection, &connection->down) < 0)
		return -1;
	if (connection->is_closing || connection->gate == GATE_TLS ||
	    connection->gate == GATE_TLS_GATEWAY)
		return 0;
	if (connection->gate == GATE_AGAIN)
		return gate_again(gateway, connection, events);
	if (connection->gate == GATE_HTTP)
		return gate_requests(gateway, connection, events);
	if (connection->gate == GATE_LINE)
		return gate_line(gateway, connection);
	return stream_pump(gateway, connection, &connection->up);
}

/* One that was refused: it gets the answers to what was permitted, and reads why. */
static void close_slowly(struct gateway *gateway, struct connection *connection)
{
	bool is_answered = connection->outer.fd < 0 || connection->down.is_shut;

	if ((connection->has_left || gate_discard(connection)) && is_answered)
		connection_end(gateway, connection, false);
}

void connection_step(struct gateway *gateway, struct source *side, uint32_t events)
{
	struct connection *connection = side->owner;
	bool is_inner = side == &connection->inner;

	(is_inner ? &connection->up : &connection->down)->is_ready = events & EPOLLIN;
	if (!is_inner && !connection->is_connected)
		finish_connect(gateway, connection);
	if (!connection->is_dead && is_inner &&
	    (connection->gate == GATE_TLS || connection->gate == GATE_ANSWER))
		gate_inspect(gateway, connection, events);
	if (connection->is_dead)
		return;
	if (connection->gate == GATE_TLS_GATEWAY && connection->is_connected) {
		hand_over(gateway, connection);
		return;
	}
	if (move_bytes(gateway, connection, is_inner ? events : 0) < 0) {
		connection_end(gateway, connection, true);
		return;
	}
	if (connection->is_closing)
		close_slowly(gateway, connection);
	if (connection->is_dead)
		return;
	if (connection->gate == GATE_TLS_GATEWAY && connection->is_connected) {
		hand_over(gateway, connection);
		return;
	}
	if (connection->up.is_shut && connection->down.is_shut && !connection->is_closing)
		connection_end(gateway, connection, false);
	else if (events & EPOLLERR || watch(gateway, connection) < 0)
		connection_end(gateway, connection, true);
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

void connection_dial(struct gateway *gateway, struct connection *connection,
		     const struct net_address *address, uint16_t port)
{
	struct sockaddr_storage to;
	socklen_t len = net_address_to(address, port, &to);

	set_options(connection->inner.fd);
	if (connection->outer.fd < 0)
		connection->outer.fd =
			socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connection->outer.fd >= 0)
		set_options(connection->outer.fd);
	if (connection->outer.fd < 0 ||
	    (connect(connection->outer.fd, (struct sockaddr *)&to, len) < 0 &&
	     errno != EINPROGRESS)) {
		notify_upstream(gateway, connection, errno);
		connection_end(gateway, connection, true);
		return;
	}
	if (watch(gateway, connection) < 0)
		connection_end(gateway, connection, true);
}

static void refuse(struct gateway *gateway, int fd, const struct refusal *refusal)
{
	report_refused(gateway, refusal);
	reset_on_close(fd);
}

static void take_connection(struct gateway *gateway, int accepted_fd)
{
	owned(fd_close) int fd = accepted_fd;
	struct sockaddr_storage local;
	socklen_t len = sizeof(local);
	struct net_address address;
	struct net_port port = { .is_udp = false };
	struct refusal refusal = { .verb = "connect", .address = &address };
	struct decision decision;

	if (getsockname(fd, (struct sockaddr *)&local, &len) < 0 ||
	    !net_address_from(&local, &address, &port.number)) {
		reset_on_close(fd);
		return;
	}
	refusal.port = port;
	decide(gateway, &address, port, &decision);
	decide_own(gateway, port, &decision);
	refusal.name = decision.name;
	refusal.rule = decision.rule;
	if (decision.passes && gateway->connection_count >= gateway->connection_max)
		refusal.rule = "too many connections at a time";
	if (!decision.passes || refusal.rule) {
		refuse(gateway, fd, &refusal);
		return;
	}
	struct connection *connection = add(gateway, fd_take(&fd), -1);

	connection->address = address;
	connection->port = port;
	connection->name = decision.name ? xstrdup(decision.name) : NULL;
	connection->must_say_name = decision.by_name || (gateway->place_count > 0 &&
							 hand_over_may_be_due(gateway, connection));
	/* An address of theirs that only a rule about addresses permits stands for no name. */
	if (decision.by_name && proxy_made(&address))
		connection->proxy = proxies_for(&gateway->proxies, decision.name, port.number);
	gate_choose(gateway, connection);
	gateway->counts.connections++;
	if (connection->proxy)
		proxy_dial(gateway, connection);
	else
		connection_dial(gateway, connection, &decision.dial, port.number);
}

void connection_accept(struct gateway *gateway, struct source *listener)
{
	for (int i = 0; i < ACCEPTS_PER_ROUND; i++) {
		int fd = source_accept(gateway, listener);

		if (fd < 0)
			return;
		take_connection(gateway, fd);
	}
}

/* From the host's loopback to a server inside. */
void connection_publish(struct gateway *gateway, struct source *listener)
{
	owned(fd_close) int fd = source_accept(gateway, listener);
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
	connection_dial(gateway, connection, &loopback, listener->port);
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

/* A first line that was waited for long enough. */
static void go_on_unfinished(struct gateway *gateway, struct connection *connection)
{
	gate_limit(connection, GATE_LINE);
	if (move_bytes(gateway, connection, 0) < 0 ||
	    (!connection->is_dead && watch(gateway, connection) < 0))
		connection_end(gateway, connection, true);
}

void connection_expire(struct gateway *gateway)
{
	struct connection *next;

	for (struct connection *at = gateway->connections; at; at = next) {
		next = at->next;
		if (!is_old(gateway, at))
			continue;
		if (at->gate == GATE_TLS && at->is_plain && at->hello_ns) {
			go_on_unfinished(gateway, at);
			continue;
		}
		if (at->gate == GATE_HTTP && at->hello_ns && !at->is_closing) {
			gate_too_slow(gateway, at);
			continue;
		}
		if (!at->is_connected)
			notify_upstream(gateway, at, ETIMEDOUT);
		connection_end(gateway, at, true);
	}
}
